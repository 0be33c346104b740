"""Tries OpenAI's library for Python."""

import openai

from trial import ANSWER, CALL, KEY, SPENT, URL, WORDS, City, report


def client(key=KEY):
    return openai.OpenAI(base_url=URL + "/v1", api_key=key, max_retries=0)


def ask(model="native/echo", messages=None, key=KEY, **options):
    messages = messages or [{"role": "user", "content": WORDS}]
    return client(key).chat.completions.create(model=model, messages=messages, **options)


def plain():
    assert ask().choices[0].message.content == ANSWER


def stream():
    chunks = ask(stream=True)
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == ANSWER


def tools():
    tool = {"type": "function", "function": {"name": "look_up", "parameters": City.model_json_schema()}}
    question = {"role": "user", "content": CALL}
    asked = ask(messages=[question], tools=[tool]).choices[0].message
    result = {"role": "tool", "tool_call_id": asked.tool_calls[0].id, "content": "sunny"}
    answer = ask(messages=[question, asked, result], tools=[tool])
    assert "You said" in answer.choices[0].message.content


def two_turns():
    first = {"role": "user", "content": "hi"}
    said = ask(messages=[first]).choices[0].message
    answer = ask(messages=[first, said, {"role": "user", "content": "again"}])
    assert "received 3 messages" in answer.choices[0].message.content


def structured_output():
    messages = [{"role": "user", "content": "a city"}]
    answer = client().chat.completions.parse(model="native/echo", messages=messages, response_format=City)
    assert answer.choices[0].message.parsed == City(city="text")


def errors():
    try:
        ask(key=SPENT)
    except openai.APIStatusError as error:
        assert error.status_code == 402 and error.code == "spend_limit_reached"
        return
    raise AssertionError("no error")


def translated():
    assert ask(model="messages/echo").choices[0].message.content == ANSWER


report("openai")
