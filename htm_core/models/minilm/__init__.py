"""The embedded model, all-MiniLM-L6-v2: its weights, and its network for onnxruntime in float32 and
int8.
"""
