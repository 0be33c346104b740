/** Where the official libraries' types say what requests, answers and events can hold: the roots of the census. */
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import type * as BetaResponses from 'openai/resources/beta/responses/responses';

type ResponseEvent = OpenAI.Responses.ResponseStreamEvent | BetaResponses.BetaResponseStreamEvent;
/** It has a whole item, with all of its parts. */
type Item = { type: 'response.output_item.done' };
/** What begins an item or a part, and is said again once it is done. */
type Beginning = { type: 'response.output_item.added' | 'response.content_part.added' };

/** By format and place. What is declared first is read first, and names what it shares with the others. */
export interface Libraries {
  'chat request': [OpenAI.Chat.Completions.ChatCompletionCreateParams];
  'chat answer': [OpenAI.Chat.Completions.ChatCompletion];
  'chat event': [OpenAI.Chat.Completions.ChatCompletionChunk];
  'responses request': [OpenAI.Responses.ResponseCreateParams, BetaResponses.ResponseCreateParams];
  'responses answer': [OpenAI.Responses.Response, BetaResponses.BetaResponse];
  'responses event': [
    Extract<ResponseEvent, Item>,
    Exclude<ResponseEvent, Item | Beginning>,
    Extract<ResponseEvent, Beginning>,
  ];
  'embeddings request': [OpenAI.Embeddings.EmbeddingCreateParams];
  'embeddings answer': [OpenAI.Embeddings.CreateEmbeddingResponse];
  'messages request': [Anthropic.MessageCreateParams, Anthropic.Beta.Messages.MessageCreateParams];
  'messages answer': [Anthropic.Message, Anthropic.Beta.Messages.BetaMessage];
  'messages event': [Anthropic.RawMessageStreamEvent, Anthropic.Beta.Messages.BetaRawMessageStreamEvent];
  'count_tokens request': [Anthropic.MessageCountTokensParams, Anthropic.Beta.Messages.MessageCountTokensParams];
  'count_tokens answer': [Anthropic.MessageTokensCount, Anthropic.Beta.Messages.BetaMessageTokensCount];
}
