/** What the gateway does with every name of embeddings. */
import { actedOn, free, held } from '../rows.ts';

export const EMBEDDINGS_REQUEST = [
  actedOn('it decides the provider and the prices', 'model'),
  held('text of the input, or tokens as they are', 'input'),
  free('vectors are not billed, whatever their length', 'dimensions encoding_format'),
  free('a name for the records of the provider', 'user'),
];

export const EMBEDDINGS_ANSWER = [
  actedOn('billed by these figures', '[list]: .usage .usage.prompt_tokens .usage.total_tokens'),
  actedOn('kept, to find the request at the provider', '[list]: .model'),
  actedOn('says that it is an answer', '[list] .data'),
  free('not billed', 'data[embedding].**'),
];
