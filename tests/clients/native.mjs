// Asks once with google-genai or ollama-js, and prints as JSON what a program that uses it gets to see.
//   node native.mjs SDK BASE_URL      (node_modules beside this file or above it)
import { GoogleGenAI } from '@google/genai';
import { Ollama } from 'ollama';

const [sdk, base] = process.argv.slice(2);
const seen = { text: '', thoughts: '', finish: null, calls: 0, error: null };
const messages = [{ role: 'user', content: 'Do it.' }];
const asked = { model: 'gemini-2.5-flash', contents: 'Do it.' };
const google = () => new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: base } });

function takeResponse(response) {
  for (const candidate of response.candidates ?? []) {
    for (const part of candidate.content?.parts ?? [])
      if (part.functionCall) seen.calls += 1;
      else seen[part.thought ? 'thoughts' : 'text'] += part.text ?? '';
    seen.finish = candidate.finishReason ?? seen.finish;
  }
}

function takeLine(line) {
  seen.text += line.message.content ?? '';
  seen.thoughts += line.message.thinking ?? '';
  seen.calls += line.message.tool_calls?.length ?? 0;
  seen.finish = line.done_reason ?? seen.finish;
}

const asks = {
  async 'google-genai stream'() {
    for await (const response of await google().models.generateContentStream(asked)) takeResponse(response);
  },
  async 'google-genai whole'() {
    takeResponse(await google().models.generateContent(asked));
  },
  async 'ollama stream'() {
    for await (const line of await new Ollama({ host: base }).chat({ model: 'm', messages, stream: true })) takeLine(line);
  },
  async 'ollama whole'() {
    takeLine(await new Ollama({ host: base }).chat({ model: 'm', messages, stream: false }));
  },
};

try {
  await asks[sdk]();
} catch (error) {
  seen.error = String(error.message ?? error);
}
console.log(JSON.stringify(seen));
process.exit(0);
