import { describe, expect, it } from '@jest/globals';
import { strangeAgent } from './token.js';

const leaf = (tenant: string, name: string) => ({
  cert: '',
  key: '',
  spiffe: `spiffe://gate.local/tenant/${tenant}/agent/${name}/instance/1`,
});
const agents = { 'support-bot': leaf('acme', 'support-bot'), 'dev-agent': leaf('acme', 'dev-agent') };

describe('gate token for a name', () => {
  it('says nothing of an agent that the start made', () => {
    expect(strangeAgent({ agents }, 'acme', 'dev-agent')).toBeNull();
  });

  it('names those that the start made where it is none of them, as a mistyped one is', () => {
    expect(strangeAgent({ agents }, 'acme', 'devagent')).toMatch(
      /no agent devagent of acme \(it made support-bot, dev-agent\): .*one more agent, which has no persona/,
    );
  });

  it('names none of another tenant', () => {
    expect(strangeAgent({ agents }, 'globex', 'dev-agent')).toMatch(
      /^the start made no agent dev-agent of globex: with/,
    );
  });
});
