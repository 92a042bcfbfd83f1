import { describe, expect, it } from '@jest/globals';
import { readConfig } from './env.js';
import { NOTIFICATION_SETTINGS, notificationFault } from './notifications.js';

const read = (env: Record<string, string>) => readConfig('hil', NOTIFICATION_SETTINGS, env);

describe('the settings of notifications', () => {
  it('tell nobody by default, and tell of every tenant', () => {
    expect(read({})).toMatchObject({
      notificationMode: 'warn',
      notificationTimeoutSeconds: 5,
      notificationTenants: [],
      slackApiUrl: 'https://slack.com/api',
      pagerDutyUrl: 'https://events.pagerduty.com/v2/enqueue',
      smtpTo: [],
    });
    expect(notificationFault(read({}))).toBeNull();
  });

  it.each([
    ['an unknown mode', { GATE_HIL_NOTIFICATION_MODE: 'loud' }, 'GATE_HIL_NOTIFICATION_MODE'],
    ['a chat that is no web address', { GATE_HIL_SLACK_WEBHOOK_URL: 'ftp://x/y' }, 'GATE_HIL_SLACK_WEBHOOK_URL'],
    ['a name for a channel', { GATE_HIL_SLACK_CHANNEL: '#general' }, 'GATE_HIL_SLACK_CHANNEL'],
    ['a short bearer', { GATE_HIL_WEBHOOK_BEARER_TOKEN: 'tooshort' }, 'GATE_HIL_WEBHOOK_BEARER_TOKEN'],
    ['a mail server over HTTP', { GATE_HIL_SMTP_URL: 'https://mail.example' }, 'GATE_HIL_SMTP_URL'],
    ['a sender with a header', { GATE_HIL_SMTP_FROM: 'gate@acme.example\r\nBcc: x@y.example' }, 'GATE_HIL_SMTP_FROM'],
    ['receivers with a name', { GATE_HIL_SMTP_TO: 'Ops <ops@acme.example>' }, 'GATE_HIL_SMTP_TO'],
    ['an invalid tenant', { GATE_HIL_NOTIFICATION_TENANTS: 'acme,a/b' }, 'GATE_HIL_NOTIFICATION_TENANTS'],
    [
      'a secret that is not base64',
      { GATE_HIL_TEAMS_SIGNING_SECRET: 'not base64 at all!' },
      'GATE_HIL_TEAMS_SIGNING_SECRET',
    ],
    ['pools that are no JSON', { GATE_HIL_ESCALATION_POOLS: '{tooshort' }, 'GATE_HIL_ESCALATION_POOLS'],
    ['a pool without a channel', { GATE_HIL_ESCALATION_POOLS: '{"payments":{}}' }, 'payments: has no channel'],
    [
      'a pool with a channel that there is not',
      { GATE_HIL_ESCALATION_POOLS: '{"payments":{"fax":"tooshort"}}' },
      'GATE_HIL_ESCALATION_POOLS',
    ],
    [
      'a pool with a short key',
      { GATE_HIL_ESCALATION_POOLS: '{"payments":{"pagerduty":"tooshort"}}' },
      'payments.pagerduty: must have at least 16',
    ],
    ['a pool with a name of two', { GATE_HIL_ESCALATION_POOLS: '{"a@b":{"slack":"C1"}}' }, 'GATE_HIL_ESCALATION_POOLS'],
    ['a short secret', { GATE_HIL_TEAMS_SIGNING_SECRET: 'c2hvcnQ=' }, 'GATE_HIL_TEAMS_SIGNING_SECRET'],
  ])('refuse %s, and repeat no secret', (_, env, variable) => {
    expect(() => read(env)).toThrow(variable);
    expect(() => read(env)).not.toThrow(/tooshort|c2hvcnQ=|at all!/);
  });

  it.each([
    ['a bot without its channel', { GATE_HIL_SLACK_BOT_TOKEN: 'xoxb-0123456789abcdef' }, /set both or none/],
    [
      'two ways to Slack',
      {
        GATE_HIL_SLACK_WEBHOOK_URL: 'https://hooks.example/x',
        GATE_HIL_SLACK_BOT_TOKEN: 'xoxb-0123456789abcdef',
        GATE_HIL_SLACK_CHANNEL: 'C1',
      },
      /set one of them/,
    ],
    [
      'mail to nobody',
      { GATE_HIL_SMTP_URL: 'smtp://mail.example', GATE_HIL_SMTP_FROM: 'gate@acme.example' },
      /all three/,
    ],
    [
      'a bearer for no webhook',
      { GATE_HIL_WEBHOOK_BEARER_TOKEN: 'b'.repeat(16) + 'c'.repeat(16) },
      /GATE_HIL_WEBHOOK_URL/,
    ],
    [
      'a default pool that there is not',
      { GATE_HIL_DEFAULT_ESCALATION_POOL: 'payments' },
      /not one of GATE_HIL_ESCALATION_POOLS/,
    ],
    [
      'a pool in Slack without a bot',
      { GATE_HIL_ESCALATION_POOLS: '{"payments":{"slack":"C1"}}' },
      /payments\.slack .* GATE_HIL_SLACK_BOT_TOKEN/,
    ],
    [
      'a promise to tell people, and nobody who is told',
      { GATE_HIL_NOTIFICATION_MODE: 'enforce' },
      /^GATE_HIL_NOTIFICATION_MODE: enforce needs a channel .*GATE_HIL_SLACK_BOT_TOKEN.* or warn$/,
    ],
    [
      'a promise to tell people of every call, and a pool that is told of escalations only',
      {
        GATE_HIL_NOTIFICATION_MODE: 'enforce',
        GATE_HIL_ESCALATION_POOLS: '{"platform":{"teams":"https://t.example"}}',
      },
      /^GATE_HIL_NOTIFICATION_MODE: enforce needs/,
    ],
    [
      'a pool that gets mail without a server',
      { GATE_HIL_ESCALATION_POOLS: '{"payments":{"smtp":["ada@acme.example"]}}' },
      /payments\.smtp needs GATE_HIL_SMTP_URL/,
    ],
  ])('stop the start with %s', (_, env, why) => {
    expect(notificationFault(read(env))).toMatch(why);
  });

  it('have pools, each with the channels of its own', () => {
    const pools = {
      payments: { slack: 'https://hooks.example/x', pagerduty: 'k'.repeat(32) },
      platform: { teams: 'https://t.example' },
    };
    const env = { GATE_HIL_ESCALATION_POOLS: JSON.stringify(pools), GATE_HIL_DEFAULT_ESCALATION_POOL: 'platform' };
    expect(notificationFault(read(env))).toBeNull();
    expect(Object.fromEntries(read(env).escalationPools ?? [])).toEqual(pools);
  });

  it.each([
    { GATE_HIL_SLACK_BOT_TOKEN: 'xoxb-0123456789abcdef', GATE_HIL_SLACK_CHANNEL: 'C1' },
    { GATE_HIL_SLACK_WEBHOOK_URL: 'https://hooks.example/x' },
    { GATE_HIL_TEAMS_WEBHOOK_URL: 'https://t.example' },
    { GATE_HIL_PAGERDUTY_ROUTING_KEY: 'R02ZK7ABCDEF0123456789XYZ' },
    { GATE_HIL_WEBHOOK_URL: 'https://w.example' },
    { GATE_HIL_SMTP_URL: 'smtps://m.example', GATE_HIL_SMTP_FROM: 'a@m.example', GATE_HIL_SMTP_TO: 'b@m.example' },
  ])('keep the promise to tell people with %o', (channel) => {
    expect(notificationFault(read({ GATE_HIL_NOTIFICATION_MODE: 'enforce', ...channel }))).toBeNull();
  });

  it('have a whole channel where all of it is set', () => {
    const mail = {
      GATE_HIL_SMTP_URL: 'smtps://gate:password-of-it@mail.example',
      GATE_HIL_SMTP_FROM: 'gate@acme.example',
      GATE_HIL_SMTP_TO: 'ops@acme.example, ada@acme.example',
    };
    expect(notificationFault(read(mail))).toBeNull();
    expect(read(mail).smtpTo).toEqual(['ops@acme.example', 'ada@acme.example']);
  });
});
