"""An answer of a language model in a schema: LangChain's by `with_structured_output`, LlamaIndex's
by `as_structured_llm`.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError

from .lazy import has_methods

LONGEST = 300  # characters of an error that a model is shown


def structured(model: Any, schema: type[BaseModel], instructions: str, prompt: str) -> Any:
    """Return a model's answer: an object of the schema, a mapping with its fields, or what came in
    another form.

    What is in another form is asked for once more, with what was wrong in it: a small model mends
    that often. Raises what the model raises the second time, and what is no matter of form at once.
    """
    asked = [("system", instructions), ("human", prompt)]
    try:
        answer = _answer(model, schema, asked)
        schema.model_validate(answer, from_attributes=True)
    # pydantic's and JSON's errors, and those of LangChain's parsers, are such
    except ValueError as error:
        wrong = (
            f"That was not in the form that is expected: {_what_is_wrong(error)}. Answer "
            "again, in that form alone."
        )
        return _answer(model, schema, [*asked, ("human", wrong)])
    return answer


def structured_field(
    model: Any, schema: type[BaseModel], instructions: str, prompt: str, *, field: str
) -> Any:
    """One field of a model's `structured` answer; an answer of another form comes back whole, for
    the caller to check.
    """
    answer = structured(model, schema, instructions, prompt)
    return answer.get(field) if isinstance(answer, dict) else getattr(answer, field, answer)


def _what_is_wrong(error: ValueError) -> str:
    """Say what is wrong with an answer, without its words: they may be anybody's."""
    if not isinstance(error, ValidationError):
        return "it cannot be read"
    wrong = (
        f"{'.'.join(map(str, each['loc'])) or 'the whole'}: {each['msg']}"
        for each in error.errors(include_input=False)
    )
    return "; ".join(wrong)[:LONGEST]


def _answer(model: Any, schema: type[BaseModel], asked: list[tuple[str, str]]) -> Any:
    if has_methods(model, "with_structured_output"):
        return model.with_structured_output(schema).invoke(asked)
    from llama_index.core.base.llms.types import ChatMessage  # it is installed where its models are

    roles = {"human": "user"}
    messages = [ChatMessage(role=roles.get(role, role), content=text) for role, text in asked]
    return model.as_structured_llm(schema).chat(messages).raw
