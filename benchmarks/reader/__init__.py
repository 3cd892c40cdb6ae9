"""Training and measures of a reader: a model that says whether a message states what a question asks.

`python -m benchmarks.reader.lists FOLDER` writes the candidates of each question, as recall finds them; `benchmarks.reader.train`,
`export` and `measure` take the same folder, and need torch and onnx. The data are by authors
who had seen no rule of this project: `near-a` and `near-b` are small memories full of look-alikes (another person, another thing,
a plan, a value that has changed), `pairs` are two messages of one person of which the newer may replace the older, `kinds` are
messages by what they do, and `palace` has memories with one question that is answered and one that is not. Nothing is fitted on
what is `held-out` or `unseen`.
"""
