"""Tries Anthropic's library for Python."""

import anthropic

from trial import ANSWER, CALL, KEY, SPENT, URL, WORDS, City, report


def client(key=KEY):
    return anthropic.Anthropic(base_url=URL, api_key=key, max_retries=0)


def ask(content=WORDS, model="native/echo", messages=None, key=KEY, **options):
    messages = messages or [{"role": "user", "content": content}]
    return client(key).messages.create(model=model, max_tokens=1000, messages=messages, **options)


def plain():
    assert ask().content[0].text == ANSWER


def stream():
    messages = [{"role": "user", "content": WORDS}]
    with client().messages.stream(model="native/echo", max_tokens=1000, messages=messages) as events:
        assert events.get_final_text() == ANSWER


def tools():
    tool = {"name": "look_up", "input_schema": City.model_json_schema()}
    question = {"role": "user", "content": CALL}
    asked = ask(messages=[question], tools=[tool])
    result = {"type": "tool_result", "tool_use_id": asked.content[0].id, "content": "sunny"}
    messages = [question, {"role": "assistant", "content": asked.content}, {"role": "user", "content": [result]}]
    assert ask(messages=messages, tools=[tool]).stop_reason == "end_turn"


def two_turns():
    said = ask("hi").content
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": said},
        {"role": "user", "content": "again"},
    ]
    assert "received 3 messages" in ask(messages=messages).content[0].text


def structured_output():
    messages = [{"role": "user", "content": "a city"}]
    answer = client().messages.parse(model="native/echo", max_tokens=1000, messages=messages, output_format=City)
    assert answer.parsed_output == City(city="text")


def errors():
    try:
        ask(key=SPENT)
    except anthropic.APIStatusError as error:
        assert error.status_code == 402 and "spend limit" in str(error)
        return
    raise AssertionError("no error")


def translated():
    assert ask(model="chat/echo").content[0].text == ANSWER


report("anthropic")
