"""Tries Google's library for Python."""

from google import genai
from google.genai import errors as genai_errors
from google.genai import types

from trial import ANSWER, CALL, KEY, SPENT, URL, WORDS, City, look_up, report


def client(key):
    return genai.Client(api_key=key, http_options=types.HttpOptions(base_url=URL))


# One that nobody holds is closed.
ABLE, UNABLE = client(KEY), client(SPENT)


def ask(contents=WORDS, model="native/echo", of=ABLE, **config):
    config = types.GenerateContentConfig(**config) if config else None
    return of.models.generate_content(model=model, contents=contents, config=config)


def plain():
    assert ask().text == ANSWER


def stream():
    chunks = ABLE.models.generate_content_stream(model="native/echo", contents=WORDS)
    assert "".join(chunk.text or "" for chunk in chunks) == ANSWER


def tools():
    answer = ask(CALL, tools=[look_up])
    called = [part for turn in answer.automatic_function_calling_history for part in turn.parts]
    assert any(part.function_response and part.function_response.response == {"result": "sunny"} for part in called)
    assert "You said" in answer.text


def two_turns():
    chat = ABLE.chats.create(model="native/echo")
    chat.send_message("hi")
    assert "received 3 messages" in chat.send_message("again").text


def structured_output():
    answer = ask("a city", response_mime_type="application/json", response_schema=City)
    assert answer.parsed == City(city="text")


def errors():
    try:
        ask(of=UNABLE)
    except genai_errors.ClientError as error:
        assert error.code == 402 and "spend limit" in error.message
        return
    raise AssertionError("no error")


def translated():
    for model in ("chat/echo", "messages/echo"):
        assert ask(model=model).text == ANSWER


report("google-genai")
