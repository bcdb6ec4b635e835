// Asks once with one of the Node SDKs, and prints as JSON what a program that uses it gets to see.
//   node sdks.mjs SDK BASE_URL      (BASE_URL without /v1; node_modules beside this file or above it)
import OpenAI from 'openai';
import Anthropic from '@anthropic-ai/sdk';
import { stepCountIs, streamText, tool, jsonSchema } from 'ai';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenRouter } from '@openrouter/ai-sdk-provider';

const [sdk, base] = process.argv.slice(2);
const schema = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] };
const messages = [{ role: 'user', content: 'Do it.' }];
const functions = [{ type: 'function', function: { name: 'bash', parameters: schema } }];
const model = 'scripted';
const seen = { text: '', thoughts: '', finish: null, calls: [], executed: [], error: null };

const openai = () => new OpenAI({ baseURL: `${base}/v1`, apiKey: 'none', maxRetries: 0 });
const anthropic = () => new Anthropic({ baseURL: base, apiKey: 'none', maxRetries: 0 });

const asks = {
  async 'openai chat iteration'() {
    const stream = await openai().chat.completions.create({ model, messages, tools: functions, stream: true });
    for await (const chunk of stream)
      for (const choice of chunk.choices) {
        seen.text += choice.delta.content ?? '';
        seen.thoughts += choice.delta.reasoning_content ?? '';
        seen.finish = choice.finish_reason ?? seen.finish;
        for (const call of choice.delta.tool_calls ?? [])
          if (call.id) seen.calls.push(call.function.arguments ?? '');
          else seen.calls[seen.calls.length - 1] += call.function.arguments;
      }
  },
  async 'openai chat helper'() {
    const final = await openai().chat.completions.stream({ model, messages, tools: functions }).finalChatCompletion();
    const [choice] = final.choices;
    Object.assign(seen, { text: choice.message.content ?? '', finish: choice.finish_reason });
    seen.calls = (choice.message.tool_calls ?? []).map((call) => call.function.arguments);
  },
  async 'openai responses iteration'() {
    const stream = await openai().responses.create({ model, input: 'Do it.', stream: true, store: false });
    for await (const event of stream) {
      if (event.type === 'response.output_text.delta') seen.text += event.delta;
      if (event.type === 'response.reasoning_summary_text.delta') seen.thoughts += event.delta;
      if (event.type === 'response.output_item.done' && event.item.type === 'function_call') seen.calls.push(event.item.arguments);
      if (event.type === 'response.failed') seen.error = event.response.error.message;
      if (event.response) seen.finish = event.response.status;
    }
  },
  async 'openai responses helper'() {
    const final = await openai().responses.stream({ model, input: 'Do it.', store: false }).finalResponse();
    Object.assign(seen, { text: final.output_text, finish: final.status });
    seen.calls = final.output.filter((item) => item.type === 'function_call').map((item) => item.arguments);
  },
  async 'anthropic iteration'() {
    const stream = await anthropic().messages.create({ model, max_tokens: 9000, messages, stream: true });
    for await (const event of stream) {
      if (event.type === 'content_block_start' && event.content_block.type === 'tool_use') seen.calls.push('');
      if (event.delta?.type === 'text_delta') seen.text += event.delta.text;
      if (event.delta?.type === 'thinking_delta') seen.thoughts += event.delta.thinking;
      if (event.delta?.type === 'input_json_delta') seen.calls[seen.calls.length - 1] += event.delta.partial_json;
      if (event.type === 'message_delta') seen.finish = event.delta.stop_reason;
    }
  },
  async 'anthropic helper'() {
    const final = await anthropic().messages.stream({ model, max_tokens: 9000, messages }).finalMessage();
    seen.finish = final.stop_reason;
    for (const block of final.content) {
      if (block.type === 'text') seen.text += block.text;
      if (block.type === 'thinking') seen.thoughts += block.thinking;
      if (block.type === 'tool_use') seen.calls.push(JSON.stringify(block.input));
    }
  },
  'ai openai-compatible': () => ai(createOpenAICompatible({ name: 'fuse', baseURL: `${base}/v1`, apiKey: 'none' })(model)),
  'ai openai': () => ai(createOpenAI({ baseURL: `${base}/v1`, apiKey: 'none' })(model)),
  'ai openrouter': () => ai(createOpenRouter({ baseURL: `${base}/v1`, apiKey: 'none' })(model)),
  'ai anthropic': () => ai(createAnthropic({ baseURL: `${base}/v1`, apiKey: 'none' })(model)),
};

async function ai(chosen) {
  const bash = tool({
    inputSchema: jsonSchema(schema),
    execute: async (input) => { seen.executed.push(input.command ?? null); return 'done'; },
  });
  const result = streamText({ model: chosen, messages, tools: { bash }, maxRetries: 0, stopWhen: stepCountIs(2), onError() {} });
  for await (const part of result.fullStream) {
    if (part.type === 'text-delta') seen.text += part.text;
    if (part.type === 'reasoning-delta') seen.thoughts += part.text;
    if (part.type === 'tool-call') seen.calls.push(JSON.stringify(part.input));
    if (part.type === 'error') seen.error = String(part.error?.message ?? part.error);
    if (part.type === 'finish') seen.finish = part.finishReason;
  }
}

try {
  await asks[sdk]();
} catch (error) {
  seen.error = String(error?.message ?? error);
}
console.log(JSON.stringify(seen));
