import { describe, expect, it } from '@jest/globals';
import {
  agentOwnersFault,
  dispositionsFault,
  passkeyFault,
  parseAgentOwners,
  parseOperators,
  readHilConfig,
} from './hil.js';

const token = (n: number) => `t${n}-0123456789abcdefghijklmnopqrstuvwxyz`;
const env = {
  GATE_HIL_PAYLOAD_KEYS: `k1:${'0123456789abcdef'.repeat(4)}`,
  GATE_HIL_DECISION_KEY_FILE: '/keys/hil-decision.key',
  GATE_HIL_SESSION_KEY: '89abcdef01234567'.repeat(4),
  GATE_HIL_OPERATORS: `dev@acme:${token(1)}, ada@globex:${token(2)}`,
};

describe('the settings of the review service', () => {
  it('have defaults for all but keys and operators, on loopback', () => {
    expect(readHilConfig(env)).toMatchObject({
      host: '127.0.0.1',
      port: 8084,
      healthHost: '127.0.0.1',
      healthPort: 9084,
      decisionKeyFile: '/keys/hil-decision.key',
      operators: [
        { name: 'dev', tenant: 'acme', token: token(1) },
        { name: 'ada', tenant: 'globex', token: token(2) },
      ],
      simulatorTenant: undefined,
      bodyLimitBytes: 2_097_152,
      decisionLifeSeconds: 10,
    });
    expect(readHilConfig(env).payloadKeys.activeKeyId).toBe('k1');
  });

  it('stop the start with all faults at once, each naming its variable and no secret', () => {
    const read = () =>
      readHilConfig({
        GATE_HIL_PAYLOAD_KEYS: 'k1:abc123',
        GATE_HIL_OPERATORS: 'dev@acme:tooshort',
        GATE_HIL_PORT: '-1',
      });
    expect(read).toThrow(/GATE_HIL_PAYLOAD_KEYS.*\n.*GATE_HIL_DECISION_KEY_FILE: is not set\n.*GATE_HIL_OPERATORS/s);
    expect(read).toThrow('GATE_HIL_PORT');
    expect(read).not.toThrow(/abc123|tooshort/);
  });
});

describe('the shares of its time after which a review is escalated', () => {
  const sharesOf = (text?: string) =>
    readHilConfig({ ...env, ...(text !== undefined && { GATE_HIL_SLA_ESCALATE_FRACTION: text }) }).escalateShares;

  it('are the half of it, one that is set, several, or none', () => {
    expect(sharesOf()).toEqual([0.5]);
    expect(sharesOf('0.25')).toEqual([0.25]);
    expect(sharesOf('0.5, 0.8,0.99')).toEqual([0.5, 0.8, 0.99]);
    expect(sharesOf('0')).toEqual([]);
  });

  it.each([
    ['a word', 'half'],
    ['a place without a share', '0.5,,0.8'],
    ['a negative one', '-0.5'],
    ['the whole of the time', '1'],
    ['more than it', '0.5,1.5'],
    ['none beside another', '0,0.5'],
    ['the same twice', '0.5,0.5'],
    ['a smaller one behind a larger', '0.8,0.5'],
    ['infinity', 'Infinity'],
    ['nine', '0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9'],
  ])('stop the start with %s', (_, text) => {
    expect(() => sharesOf(text)).toThrow(/GATE_HIL_SLA_ESCALATE_FRACTION: must be up to 8 shares/);
  });
});

describe('operators', () => {
  it.each([
    ['no tenant', `dev:${token(1)}`, 'entry 1'],
    ['no token', 'dev@acme', 'entry 1'],
    ['a short token', 'dev@acme:0123456789abcdefghijklmnopqrstu', 'shorter than 32 bytes'],
    ['a placeholder token', `dev@acme:${'x'.repeat(40)}`, 'placeholder'],
    ['a name with a slash', `de/v@acme:${token(1)}`, 'entry 1'],
    ['the same operator twice', `dev@acme:${token(1)},dev@acme:${token(2)}`, 'appears twice'],
    ['one name in two spellings', `dev@acme:${token(1)},Dev@acme:${token(2)}`, 'appears twice'],
    ['one token for two people', `dev@acme:${token(1)},ada@acme:${token(1)}`, 'shares its token'],
  ])('are refused with %s', (_, text, reason) => {
    expect(() => parseOperators(text)).toThrow(reason);
  });

  it('may be one person in two tenants, each with its own token, which may hold colons', () => {
    expect(parseOperators(`dev@acme:a:${token(1)},dev@globex:${token(2)},`)).toEqual([
      { name: 'dev', tenant: 'acme', token: `a:${token(1)}` },
      { name: 'dev', tenant: 'globex', token: token(2) },
    ]);
  });
});

describe('owners of agents', () => {
  it('are operators with the agents that act for them', () => {
    expect(readHilConfig(env).agentOwners).toEqual([]);
    const config = readHilConfig({ ...env, GATE_HIL_AGENT_OWNERS: 'dev@acme:payments-bot, ada@globex:payments-bot,' });
    expect(config.agentOwners).toEqual([
      { operator: 'dev', tenant: 'acme', agent: 'payments-bot' },
      { operator: 'ada', tenant: 'globex', agent: 'payments-bot' },
    ]);
    expect(agentOwnersFault(config)).toBeNull();
  });

  it.each(['dev@acme', 'dev:bot', 'dev@acme:bot:more', 'de/v@acme:bot'])('are refused as %s', (text) => {
    expect(() => parseAgentOwners(text)).toThrow('an owner of an agent is written operator@tenant:agent');
  });

  it('are people whom the console vouches for; a comma and a percent sign in a name are escaped', () => {
    expect(
      parseAgentOwners(
        'oidc:ada%2Cthe%252cfirst@example.com@acme:bot,saml:a%25b@acme:bot,webauthn:ben@acme:bot,dev@acme:bot',
      ),
    ).toEqual([
      { operator: 'oidc:ada,the%2cfirst@example.com', tenant: 'acme', agent: 'bot' },
      { operator: 'saml:a%b', tenant: 'acme', agent: 'bot' },
      { operator: 'webauthn:ben', tenant: 'acme', agent: 'bot' },
      { operator: 'dev', tenant: 'acme', agent: 'bot' },
    ]);
  });

  it.each([
    ['oidc:ada,the-first@acme:bot', /a comma in a name as %2C/],
    ['oidc:a%20b@acme:bot', /of escapes only %2C .* and %25/],
    ['oidc:half%@acme:bot', /of escapes only/],
    [`oidc:${'a'.repeat(256)}@acme:bot`, /nobody has a name as long as that/],
  ])('that cannot be meant are refused: %s', (text, why) => {
    expect(() => parseAgentOwners(text)).toThrow(why);
  });

  it.each(['eve@acme:bot', 'dev@globex:bot', 'Dev@acme:bot'])('that are no operators end the start: %s', (text) => {
    expect(agentOwnersFault(readHilConfig({ ...env, GATE_HIL_AGENT_OWNERS: text }))).toBe(
      `GATE_HIL_AGENT_OWNERS: ${text.split(':')[0]} is not among GATE_HIL_OPERATORS`,
    );
  });
});

describe('the file of dispositions', () => {
  const file = { GATE_HIL_DISPOSITIONS_FILE: '/var/lib/gate/dispositions.json' };
  const key = { GATE_HIL_DISPOSITIONS_KEY: '0123456789abcdef'.repeat(4) };

  it('is there with its key, or not at all', () => {
    expect(passkeyFault(readHilConfig(env))).toBeNull();
    expect(passkeyFault(readHilConfig({ ...env, GATE_HIL_PASSKEY_REQUIRED: 'all' }))).toMatch(/needs GATE_CONSOLE_URL/);
    expect(dispositionsFault(readHilConfig(env))).toBeNull();
    expect(dispositionsFault(readHilConfig({ ...env, ...file, ...key }))).toBeNull();
    for (const half of [file, key])
      expect(dispositionsFault(readHilConfig({ ...env, ...half }))).toMatch('set both or none');
  });

  it.each(['0123', '00'.repeat(32), 'x'.repeat(64)])('has a key that is one: %s', (text) => {
    const read = () => readHilConfig({ ...env, ...file, GATE_HIL_DISPOSITIONS_KEY: text });
    expect(read).toThrow('GATE_HIL_DISPOSITIONS_KEY');
    expect(read).not.toThrow(new RegExp(text));
  });
});
