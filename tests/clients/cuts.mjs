// Reads many ended streams with the Node SDKs, without a socket, and prints what a program gets to see of each.
//   node cuts.mjs CASES.json     CASES: [{wire, raw}]; prints [{way: {text, finish, calls, executed, error}}]
import { readFileSync } from 'node:fs';
import OpenAI from 'openai';
import Anthropic from '@anthropic-ai/sdk';
import { jsonSchema, streamText, tool } from 'ai';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createAnthropic } from '@ai-sdk/anthropic';

globalThis.AI_SDK_LOG_WARNINGS = false;
const model = 'scripted';
const messages = [{ role: 'user', content: 'Do it.' }];
let raw = '';
const fetch = async () => new Response(raw, { headers: { 'content-type': 'text/event-stream' } });
const openai = new OpenAI({ baseURL: 'http://fuse.test/v1', apiKey: 'none', maxRetries: 0, fetch });
const anthropic = new Anthropic({ baseURL: 'http://fuse.test', apiKey: 'none', maxRetries: 0, fetch });
const given = { baseURL: 'http://fuse.test/v1', apiKey: 'none', fetch };

const ways = {
  openai_chat: {
    async iteration(seen) {
      for await (const chunk of await openai.chat.completions.create({ model, messages, stream: true }))
        for (const choice of chunk.choices) {
          seen.text += choice.delta.content ?? '';
          seen.finish = choice.finish_reason ?? seen.finish;
        }
    },
    async helper(seen) {
      const final = await openai.chat.completions.stream({ model, messages }).finalChatCompletion();
      seen.text = final.choices[0].message.content ?? '';
      seen.finish = final.choices[0].finish_reason;
      seen.calls = final.choices.flatMap((choice) => (choice.message.tool_calls ?? []).map((call) => call.function?.arguments));
    },
    ai: (seen) => ai(createOpenAICompatible({ name: 'fuse', ...given })(model), seen),
    'ai openai': (seen) => ai(createOpenAI(given).chat(model), seen),
  },
  openai_responses: {
    async iteration(seen) {
      for await (const event of await openai.responses.create({ model, input: 'Do it.', stream: true })) {
        if (event.type === 'response.failed') seen.error = event.response.error.message;
        if (event.type === 'response.output_text.done') seen.text += event.text;
        if (event.response) seen.finish = event.response.status;
      }
    },
    async helper(seen) {
      const final = await openai.responses.stream({ model, input: 'Do it.' }).finalResponse();
      [seen.finish, seen.text] = [final.status, final.output_text];
      seen.error = final.error?.message ?? null;
      seen.calls = final.output.filter((item) => item.type === 'function_call').map((item) => item.arguments);
    },
    ai: (seen) => ai(createOpenAI(given).responses(model), seen),
  },
  anthropic_messages: {
    async iteration(seen) {
      for await (const event of await anthropic.messages.create({ model, max_tokens: 99, messages, stream: true })) {
        if (event.delta?.type === 'text_delta') seen.text += event.delta.text;
        if (event.type === 'message_delta') seen.finish = event.delta.stop_reason;
        if (event.type === 'message_stop') seen.stopped = true;
      }
    },
    async helper(seen) {
      const final = await anthropic.messages.stream({ model, max_tokens: 99, messages }).finalMessage();
      seen.finish = final.stop_reason;
      for (const block of final.content) {
        if (block.type === 'text') seen.text += block.text;
        if (block.type === 'tool_use') seen.calls.push(JSON.stringify(block.input));
      }
    },
    ai: (seen) => ai(createAnthropic(given)(model), seen),
  },
  openai_completions: {
    async iteration(seen) {
      for await (const chunk of await openai.completions.create({ model, prompt: 'x', stream: true }))
        for (const choice of chunk.choices) {
          seen.text += choice.text;
          seen.finish = choice.finish_reason ?? seen.finish;
        }
    },
  },
};

async function ai(chosen, seen) {
  const run = (name) => tool({
    inputSchema: jsonSchema({ type: 'object' }),
    execute: async () => { seen.executed.push(name); return 'done'; },
  });
  const names = ['read', 'note', 'list', 'get_weather', 'search', 'apply', 'bash'];
  const tools = Object.fromEntries(names.map((name) => [name, run(name)]));
  const result = streamText({ model: chosen, messages, tools, maxRetries: 0, onError() {} });
  for await (const part of result.fullStream) {
    if (part.type === 'text-delta') seen.text += part.text;
    if (part.type === 'tool-call') seen.calls.push(JSON.stringify(part.input));
    if (part.type === 'error') seen.error = String(part.error?.message ?? part.error);
    if (part.type === 'finish') seen.finish = part.finishReason;
  }
}

const told = [];
for (const each of JSON.parse(readFileSync(process.argv[2], 'utf8'))) {
  raw = each.raw;
  const row = {};
  for (const [way, read] of Object.entries(ways[each.wire])) {
    const seen = (row[way] = { text: '', finish: null, calls: [], executed: [], error: null });
    try {
      await read(seen);
    } catch (error) {
      seen.error = String(error?.message ?? error);
    }
  }
  told.push(row);
}
console.log(JSON.stringify(told));
