import { PassThrough } from 'node:stream';
import { expect, it } from '@jest/globals';
import pino from 'pino';
import { createVoice } from './voice.js';

it('tells the terminal what happens until it is hushed, and the log for ever', async () => {
  const terminal: string[] = [];
  const log = new PassThrough();
  const voice = createVoice((line) => terminal.push(line));
  voice.say('before the log is there');
  voice.writeTo(pino(log));
  voice.say('the engine ended');
  voice.log('for the log alone');
  voice.hush();
  voice.say('the worker ended');
  expect(terminal).toEqual(['before the log is there', 'the engine ended']);
  const logged = String(log.read()).trim().split('\n');
  expect(logged.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    'the engine ended',
    'for the log alone',
    'the worker ended',
  ]);
});
