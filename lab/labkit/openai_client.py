"""The real openai package against a server: openai_client.py URL MODEL. An assertion that fails is the message."""

import sys

import openai


def streamed_chat(client, model):
    """Pieces in order: role, text, reason, usage."""
    stream = client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": "Why do requests wait?"}],
        max_completion_tokens=24,
        stream=True,
        stream_options={"include_usage": True},
        extra_body={"ignore_eos": True},
    )
    chunks = list(stream)
    assert chunks[0].choices[0].delta.role == "assistant", chunks[0]
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 24, chunks[-1]
    assert chunks[-2].choices[0].finish_reason == "length", chunks[-2]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1])
    assert len(text.split()) == 24, text
    return text


def whole_chat(client, model, streamed):
    """The same question gives the same text in one piece, and the id that was sent comes back."""
    answer = client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": "Why do requests wait?"}],
        max_completion_tokens=24,
        temperature=0.7,
        extra_body={"ignore_eos": True},
        extra_headers={"X-Request-Id": "lab-1"},
    )
    assert answer.choices[0].message.content == streamed, (answer, streamed)
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + 24, answer.usage
    assert answer.id == "chatcmpl-lab-1", answer.id


def completions(client, model):
    """Text and token ids, whole and streamed."""
    whole = client.completions.create(model=model, prompt=[11, 12, 13], max_tokens=8)
    assert whole.usage.prompt_tokens == 3 and whole.choices[0].finish_reason in ("stop", "length"), whole
    pieces = client.completions.create(model=model, prompt="Once", max_tokens=8, stream=True)
    assert pieces and [c.choices[0].finish_reason for c in pieces][-1] in ("stop", "length")


def errors(client):
    """The package's own exceptions, which it chooses by status and form."""
    question = [{"role": "user", "content": "x"}]
    for wanted, arguments in [
        (openai.NotFoundError, {"model": "nobody", "messages": question}),
        (openai.BadRequestError, {"model": client.models.list().data[0].id, "messages": []}),
    ]:
        try:
            client.chat.completions.create(**arguments)
        except wanted as error:
            assert error.body["code"] == error.status_code and error.body["message"], error.body
        else:
            raise AssertionError(f"{wanted.__name__} was not raised")


def main():
    url, model = sys.argv[1:]
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=20)
    assert model in [card.id for card in client.models.list()]
    whole_chat(client, model, streamed_chat(client, model))
    completions(client, model)
    errors(client)
    print(f"openai {openai.__version__}: streaming, whole answers, errors")


if __name__ == "__main__":
    main()
