"""Tries LangChain for Python, with the models of OpenAI's package."""

from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI
from openai import APIStatusError

from trial import ANSWER, CALL, KEY, SPENT, URL, WORDS, City, look_up, report


def model(name="native/echo", key=KEY, **options):
    return ChatOpenAI(model=name, base_url=URL + "/v1", api_key=key, max_retries=0, **options)


def plain():
    assert model().invoke(WORDS).text == ANSWER
    assert model(use_responses_api=True, store=False).invoke(WORDS).text == ANSWER


def stream():
    assert "".join(chunk.text for chunk in model().stream(WORDS)) == ANSWER


def tools():
    able = model().bind_tools([look_up])
    asked = able.invoke(CALL)
    result = ToolMessage(look_up(**asked.tool_calls[0]["args"]), tool_call_id=asked.tool_calls[0]["id"])
    assert "You said" in able.invoke([("user", CALL), asked, result]).text


def two_turns():
    said = model().invoke("hi")
    assert "received 3 messages" in model().invoke([("user", "hi"), said, ("user", "again")]).text


def structured_output():
    assert model().with_structured_output(City).invoke("a city") == City(city="text")


def errors():
    try:
        model(key=SPENT).invoke(WORDS)
    except APIStatusError as error:
        assert error.status_code == 402 and error.code == "spend_limit_reached"
        return
    raise AssertionError("no error")


def translated():
    assert model("messages/echo").invoke(WORDS).text == ANSWER


report("langchain-openai")
