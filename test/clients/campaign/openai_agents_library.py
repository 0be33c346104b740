"""Tries openai-agents, in the format responses, and in chat where another host is asked."""

import asyncio

import agents
from openai import APIStatusError, AsyncOpenAI

from trial import ANSWER, CALL, KEY, SPENT, URL, WORDS, City, look_up, report

agents.set_tracing_disabled(True)
KEEPS_NOTHING = agents.ModelSettings(store=False)


def model(name="native/echo", key=KEY, kind=agents.OpenAIResponsesModel):
    return kind(name, AsyncOpenAI(base_url=URL + "/v1", api_key=key, max_retries=0))


def agent(name="native/echo", key=KEY, kind=agents.OpenAIResponsesModel, **options):
    return agents.Agent("helper", model=model(name, key, kind), model_settings=KEEPS_NOTHING, **options)


def run(which, asked):
    return agents.Runner.run_sync(which, asked)


def plain():
    assert run(agent(), WORDS).final_output == ANSWER


def stream():
    async def deltas():
        answer = agents.Runner.run_streamed(agent(), WORDS)
        events = [event.data async for event in answer.stream_events() if event.type == "raw_response_event"]
        return "".join(event.delta for event in events if event.type == "response.output_text.delta")

    assert asyncio.run(deltas()) == ANSWER


def tools():
    answer = run(agent(tools=[agents.function_tool(look_up)]), CALL)
    assert any(item.type == "tool_call_output_item" and item.output == "sunny" for item in answer.new_items)
    assert "You said" in answer.final_output


def two_turns():
    first = run(agent(), "hi").to_input_list()
    answer = run(agent(), first + [{"role": "user", "content": "again"}])
    assert "received 3 messages" in answer.final_output


def structured_output():
    assert run(agent(output_type=City), "a city").final_output == City(city="text")


def errors():
    try:
        run(agent(key=SPENT), WORDS)
    except APIStatusError as error:
        assert error.status_code == 402 and error.code == "spend_limit_reached"
        return
    raise AssertionError("no error")


def translated():
    assert run(agent("messages/echo"), WORDS).final_output == ANSWER
    assert run(agent("messages/echo", kind=agents.OpenAIChatCompletionsModel), WORDS).final_output == ANSWER


report("openai-agents")
