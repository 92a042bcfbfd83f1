import { describe, expect, it } from '@jest/globals';
import fastify, { type FastifyRequest } from 'fastify';
import { GateError } from '../../domain/errors.js';
import { type ErrorBody, errorHandler, formOfRefusal, plainErrorBody } from './errors.js';

describe('the form of a refusal', () => {
  const framed: ErrorBody = (error) => ({ error: error.code, reasoning: error.message });
  const refused = async (words: string, form?: ErrorBody): Promise<ErrorBody> => {
    const app = fastify();
    const seen: FastifyRequest[] = [];
    app.addHook('onSend', async (request, _reply, payload) => {
      seen.push(request);
      return payload;
    });
    if (form) app.setErrorHandler(errorHandler(form) as never);
    app.get('/', () => {
      if (form) throw new GateError('invalid_request', words);
      return 'well';
    });
    await app.inject({ url: '/' });
    return formOfRefusal(seen[0] as FastifyRequest);
  };

  it('is known of a request afterwards, whatever the refusal said', async () => {
    expect(await refused('no', framed)).toBe(framed);
    expect(await refused('no "reasoning": was given', plainErrorBody)).toBe(plainErrorBody);
  });

  it('is the plain one of a request that was not refused', async () => {
    expect(await refused('')).toBe(plainErrorBody);
  });
});
