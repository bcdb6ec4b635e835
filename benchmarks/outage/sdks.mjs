// One agent on a Node SDK: asks once, exits 0 where the whole answer came, 1 where it did not.
//   node sdks.mjs SDK RETRIES BASE_URL PROMPT ANSWER      (BASE_URL without /v1; node_modules beside this file)
import OpenAI from 'openai';
import Anthropic from '@anthropic-ai/sdk';
import { streamText } from 'ai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';

const [sdk, retries, base, prompt, answer] = process.argv.slice(2);
const maxRetries = Number(retries);
const model = 'm';
const messages = [{ role: 'user', content: prompt }];
let text = '';

const asks = {
  async openai() {
    const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'sk-test', maxRetries });
    for await (const chunk of await client.chat.completions.create({ model, messages, stream: true }))
      for (const choice of chunk.choices) text += choice.delta.content ?? '';
  },
  async anthropic() {
    const client = new Anthropic({ baseURL: base, apiKey: 'sk-test', maxRetries });
    for await (const event of await client.messages.create({ model, max_tokens: 100, messages, stream: true }))
      if (event.delta?.type === 'text_delta') text += event.delta.text;
  },
  async ai() {
    const chosen = createOpenAICompatible({ name: 'fuse', baseURL: `${base}/v1`, apiKey: 'sk-test' })(model);
    for await (const part of streamText({ model: chosen, messages, maxRetries, onError() {} }).fullStream)
      if (part.type === 'text-delta') text += part.text;
  },
};

try {
  await asks[sdk]();
} catch (error) {
  console.error(String(error?.message ?? error));
}
process.exit(text === answer ? 0 : 1);
