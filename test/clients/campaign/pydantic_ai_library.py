"""Tries pydantic-ai, in the formats responses and chat."""

import os

from pydantic_ai import Agent

from trial import ANSWER, CALL, KEY, SPENT, URL, WORDS, City, look_up, report

os.environ["OPENAI_BASE_URL"] = URL + "/v1"
os.environ["OPENAI_API_KEY"] = KEY
KINDS = ("openai:", "openai-chat:")


def plain():
    for kind in KINDS:
        assert Agent(kind + "native/echo").run_sync(WORDS).output == ANSWER


def stream():
    answer = Agent("openai-chat:native/echo").run_stream_sync(WORDS)
    assert "".join(answer.stream_text(delta=True)) == ANSWER


def tools():
    for kind in KINDS:
        answer = Agent(kind + "native/echo", tools=[look_up]).run_sync(CALL)
        assert "sunny" in str(answer.all_messages())
        assert "You said" in answer.output


def two_turns():
    for kind in KINDS:
        agent = Agent(kind + "native/echo")
        first = agent.run_sync("hi")
        assert "received 3 messages" in agent.run_sync("again", message_history=first.all_messages()).output


def structured_output():
    for kind in KINDS:
        assert Agent(kind + "native/echo", output_type=City).run_sync("a city").output == City(city="text")


def errors():
    os.environ["OPENAI_API_KEY"] = SPENT
    try:
        Agent("openai-chat:native/echo").run_sync(WORDS)
    except Exception as error:
        assert "spend limit" in str(error), error
        return
    finally:
        os.environ["OPENAI_API_KEY"] = KEY
    raise AssertionError("no error")


def translated():
    for kind in KINDS:
        assert Agent(kind + "messages/echo").run_sync(WORDS).output == ANSWER


report("pydantic-ai-slim")
