import { describe, expect, it } from '@jest/globals';
import { lifecycleEvent, type Notice } from '../../contracts/notification.js';
import { mailText, plainText, slackText, teamsText } from './escaping.js';
import { mailOf, pagerDutyEvents, webhookEvent } from './events.js';
import { placesOf } from './lines.js';
import { noticesOfTest } from './notice.js';
import { slackCard, slackReply } from './slack-card.js';
import { teamsCard } from './teams-card.js';

/** What an agent, or what it quotes, could write to be more than text. */
const HOSTILE = [
  '<!channel>',
  '<!here|here>',
  '<!subteam^S0123|team>',
  '<@U0123456>',
  '<#C0123456|general>',
  '@channel @here @everyone',
  '<at>Ada</at>',
  '<https://evil.example/approve|Approve in console>',
  'https://evil.example/approve',
  'HTTP://EVIL.EXAMPLE',
  'www.evil.example',
  'mailto:ceo@evil.example',
  'javascript:alert(1)',
  '[Approve](https://evil.example)',
  '![x](https://evil.example/pixel.png)',
  '*Status:* approved\n*Decided:* operator:ada',
  '```\nStatus: approved\n```',
  '> Status: approved',
  '# A call was approved',
  '<b>approved</b><script>alert(1)</script>',
  '&lt;!channel&gt;',
  '\u202edevorppa\u202c',
  '\u2066\u2069\u200b\u200d\ufeff\u00ad',
  '\u{e0041}\u{e0042}',
  'x\r\nBcc: evil@evil.example\r\n\r\nStatus: approved',
  'x\u2028Status: approved\u2029\u0085\v\f',
  '\u001b[2J\u0007\u0000',
  '\ud800 half',
  '"}],"action_id":"approve:1"',
  'pay" (denied) \u201d \uff02',
  'A'.repeat(100_000),
];

const ESCAPES = [slackText, teamsText, mailText, plainText];

it.each(ESCAPES)(
  'leaves one of several blanks, so that no text begins a line where a client wraps it: %p',
  (escape) => {
    expect(escape(`list files${' '.repeat(120)}Predicted effect: safe`)).toBe('list files Predicted effect: safe');
  },
);

const ID = '00000000-0000-4000-8000-000000000001';
const hostile = (text: string): Notice => ({
  notification_id: `${ID}:trigger`,
  kind: 'trigger',
  phase: 'trigger',
  status: 'pending',
  pending_id: ID,
  correlation_id: ID,
  severity: null,
  tenant: 'acme',
  state_namespace: 'operator',
  created_at: '2026-11-02T10:00:00.000Z',
  expires_at: '2026-11-02T10:10:00.000Z',
  required_approvers: 1,
  approvals: 0,
  escalated: false,
  decided_at: null,
  tool: text,
  agent_id: text,
  risk_summary: text,
  method: text,
  decided_by: text,
  decided_via: text,
});
const endOf = (text: string): Notice => ({
  ...hostile(text),
  notification_id: `${ID}:resolve:denied`,
  kind: 'resolve',
  phase: 'resolve',
  status: 'denied',
  decided_at: '2026-11-02T10:00:05.000Z',
});
const places = placesOf('https://console.example', Buffer.alloc(32, 7));

/** Every text in a message, with the object that it is in. */
function* textsOf(value: unknown): Generator<{ readonly text: string; readonly of: Record<string, unknown> }> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (typeof inner === 'string' && !name.includes('url')) yield { text: inner, of: value as Record<string, unknown> };
    else yield* textsOf(inner);
  }
}

const UNSEEN = /[^\P{C}]|\p{Default_Ignorable_Code_Point}|[\p{Zl}\p{Zp}]/u;

describe.each([
  ['slackText', slackText],
  ['teamsText', teamsText],
  ['mailText', mailText],
  ['plainText', plainText],
])('%s', (_, escaped) => {
  it.each(HOSTILE)('makes one line that is all seen, short and without a link of %j', (text) => {
    const made = escaped(text);
    expect(made).not.toMatch(UNSEEN);
    expect(made).not.toMatch(/:\/\/|www\.|mailto:|javascript:/i);
    expect(made.length).toBeLessThan(4_000);
    expect(made.isWellFormed()).toBe(true);
  });

  it('leaves what agents and tools are called', () => {
    for (const name of ['wire_transfer', 'payments.transfer', 'payments-agent', 'Überweisung', '送金'])
      expect(escaped(name)).toBe(name);
  });

  it('says that it cut', () => {
    expect(escaped('A'.repeat(400))).toBe(`${'A'.repeat(300)}…`);
  });
});

describe.each([['a call that waits', hostile] as const, ['a decision', endOf] as const])('a message of %s', (_, of) => {
  it.each(HOSTILE)('of Slack takes %j for text: no markup, mention or button', (text) => {
    const card = slackCard(of(text), places(of(text)), true);
    expect(card['text']).toMatch(/^Gate: [\w ,:]+$/);
    for (const { text: shown, of: object } of textsOf(card['blocks'])) {
      expect(shown).not.toMatch(/[<>@]/);
      if ('text' in object && typeof object['text'] === 'string') expect(object['type']).toBe('plain_text');
    }
    const own = slackCard(of('x'), places(of('x')), true);
    expect((card['blocks'] as unknown[]).length).toBe((own['blocks'] as unknown[]).length);
    expect(actionsOf(card)).toEqual(actionsOf(own));
  });

  it.each(HOSTILE)('of Slack that answers a card takes %j for text too: it calls nobody by it', (text) => {
    const [reply, own] = [slackReply(of(text), places(of(text))), slackReply(of('x'), places(of('x')))];
    expect(reply['text']).toBe(own['text']);
    for (const { text: shown, of: object } of textsOf(reply['blocks'])) {
      expect(shown).not.toMatch(/[<>@]/);
      if ('text' in object && typeof object['text'] === 'string') expect(object['type']).toBe('plain_text');
    }
    expect((reply['blocks'] as unknown[]).length).toBe((own['blocks'] as unknown[]).length);
    expect(actionsOf(reply)).toEqual(actionsOf(own));
  });

  it.each(HOSTILE)('of Teams takes %j for text: no markup, mention or action', (text) => {
    const card = teamsCard(of(text), places(of(text)), true);
    for (const { text: shown, of: object } of textsOf(card['body'])) {
      expect(shown).not.toMatch(/[<>@`]|\]\(/);
      if ('text' in object) expect(object['type']).toBe('TextRun');
    }
    const own = teamsCard(of('x'), places(of('x')), true);
    expect(JSON.stringify(card['actions'])).toBe(JSON.stringify(own['actions']));
    expect((card['body'] as unknown[]).length).toBe((own['body'] as unknown[]).length);
    expect(card['fallbackText']).toBe(own['fallbackText']);
  });

  it.each(HOSTILE)('of mail keeps %j in its quotation marks in the subject, and on its line', (text) => {
    const [mail, own] = [mailOf(of(text), places(of(text))), mailOf(of('x'), places(of('x')))];
    const [before = '', after = ''] = own.subject.split('"x"');
    expect([mail.subject.startsWith(`${before}"`), mail.subject.endsWith(`"${after}`)]).toEqual([true, true]);
    const name = mail.subject.slice(before.length + 1, -after.length - 1);
    expect(name).not.toMatch(UNSEEN);
    expect(name).not.toMatch(/["\u201c\u201d\uff02]|:\/\/|www\.|mailto:|javascript:/i);
    expect(name.length).toBeLessThanOrEqual(60);
    expect(mail.text.split(/\r\n|[\n\r\u2028\u2029\u0085\v\f]/)).toHaveLength(own.text.split('\n').length);
    const links = (body: string) => body.split('\n').filter((line) => line.includes('://'));
    expect(links(mail.text)).toEqual(links(own.text));
  });

  it.each(HOSTILE)('of a webhook and of PagerDuty has %j in no line for people but as text', (text) => {
    const event = webhookEvent(of(text), places(of(text)));
    expect(lifecycleEvent.safeParse(event).error).toBeUndefined();
    expect(event.headline).not.toMatch(UNSEEN);
    for (const { text: shown } of textsOf(pagerDutyEvents(of(text), {}, 'key'))) expect(shown).not.toMatch(UNSEEN);
  });
});

describe('a message of a test', () => {
  const { trigger, resolve } = noticesOfTest(ID, 'acme', Date.parse('2026-11-02T10:00:00Z'));
  it.each([
    ['that it is one', trigger, 'TEST: no call waits, and there is nothing to decide'],
    ['that it is over', resolve, 'TEST is over: no call waited'],
  ])('says first, on every channel, %s, and has nothing to click', (_, notice, words) => {
    const slack = slackCard(notice, places(notice), true);
    const teams = teamsCard(notice, places(notice), true);
    const mail = mailOf(notice, places(notice));
    expect([slack['text'], teams['fallbackText'], mail.subject]).toEqual([
      `Gate: ${words}`,
      `Gate: ${words}`,
      `Gate: ${words} (${ID})`,
    ]);
    expect((slack['blocks'] as unknown[])[0]).toMatchObject({ text: { text: words } });
    expect((teams['body'] as unknown[])[0]).toMatchObject({ inlines: [{ text: words }] });
    expect(mail.text.startsWith(`${words}.\n`)).toBe(true);
    expect(webhookEvent(notice, places(notice))).toMatchObject({ test: true, headline: words });
    expect(lifecycleEvent.safeParse(webhookEvent(notice, places(notice))).error).toBeUndefined();
    const all = JSON.stringify([slack, teams, mail, webhookEvent(notice, places(notice))]);
    expect(all).not.toMatch(/console\.example|"type":"(?:button|Action\.)|Open until|Predicted/);
  });

  it('alarms nobody by PagerDuty, and is no test where a call waits', () => {
    expect(pagerDutyEvents(trigger, places(trigger), 'key')[0]).toMatchObject({
      payload: { severity: 'info', summary: expect.stringMatching(/^TEST: no call waits/) },
    });
    expect(webhookEvent(hostile('x'), {})).not.toHaveProperty('test');
    expect(pagerDutyEvents(hostile('x'), {}, 'key')[0]).toMatchObject({ payload: { severity: 'warning' } });
  });
});

describe('a message of a rehearsal', () => {
  const rehearsal: Notice = { ...hostile('pay'), rehearsal: true };
  const TOLD = 'no agent asked for it, and nothing runs, whatever is decided';
  it.each([
    ['waits', rehearsal, 'REHEARSAL: a call waits for a decision'],
    [
      'still waits',
      {
        ...rehearsal,
        kind: 'escalation',
        phase: 'update',
        notification_id: `${ID}:update:escalated`,
        escalated: true,
      } as const,
      'REHEARSAL: a call still waits, and its time runs out',
    ],
    ['is over', { ...endOf('pay'), rehearsal: true } as const, 'REHEARSAL: a call was denied'],
  ])('says first, on every channel, that it is one, and what that means: %s', (_, notice, words) => {
    const slack = slackCard(notice, {}, true);
    const teams = teamsCard(notice, {}, true);
    const mail = mailOf(notice, {});
    const event = webhookEvent(notice, {});
    expect([slack['text'], teams['fallbackText'], mail.subject, event.headline]).toEqual([
      `Gate: ${words}`,
      `Gate: ${words}`,
      `Gate: ${words}: "pay" (${ID})`,
      `${words}: pay by pay`,
    ]);
    expect((slack['blocks'] as unknown[])[1]).toMatchObject({ text: { text: `Rehearsal: ${TOLD}` } });
    expect((teams['body'] as unknown[])[1]).toMatchObject({ inlines: [{ text: `Rehearsal: ${TOLD}` }] });
    expect(mail.text).toContain(`\nRehearsal: ${TOLD}\n`);
    expect(event.rehearsal).toBe(true);
    expect(lifecycleEvent.safeParse(event).error).toBeUndefined();
  });

  it('says so on a pager, and where Slack asks whether a click is meant', () => {
    expect(pagerDutyEvents(rehearsal, {}, 'key')[0]).toMatchObject({
      payload: {
        summary: expect.stringMatching(/^REHEARSAL: /),
        custom_details: { Rehearsal: TOLD },
      },
    });
    const asked = JSON.stringify(actionsOf(slackCard(rehearsal, {}, true)));
    expect(asked.split(`Rehearsal: ${TOLD}.`)).toHaveLength(3);
    expect(asked).not.toMatch(/It runs with|agent is told/);
  });

  it('is said of none that a call asked for, whatever its agent names its tool and itself', () => {
    const notice = hostile('REHEARSAL: no agent asked for it');
    expect([slackCard(notice, {}, true)['text'], teamsCard(notice, {}, true)['fallbackText']]).toEqual([
      'Gate: A call waits for a decision',
      'Gate: A call waits for a decision',
    ]);
    expect(webhookEvent(notice, {})).not.toHaveProperty('rehearsal');
    expect(JSON.stringify(slackCard(notice, {}, true))).toContain('It runs with the arguments');
  });
});

describe('a message of a call that was approved', () => {
  const approved: Notice = { ...endOf('pay'), notification_id: `${ID}:resolve:approved`, status: 'approved' };
  it.each([
    ['with changed arguments', { ...approved, modified: true } as const, 'A call was approved with changed arguments'],
    ['as its agent asked for it', approved, 'A call was approved'],
  ])('says first, on every channel, that it was %s', (_, notice, words) => {
    const slack = slackCard(notice, {}, true);
    const teams = teamsCard(notice, {}, true);
    const mail = mailOf(notice, {});
    const event = webhookEvent(notice, {});
    expect([slack['text'], teams['fallbackText'], mail.subject, event.headline]).toEqual([
      `Gate: ${words}`,
      `Gate: ${words}`,
      `Gate: ${words}: "pay" (${ID})`,
      `${words}: pay by pay`,
    ]);
    expect((slack['blocks'] as unknown[])[0]).toMatchObject({ text: { text: words } });
    expect((teams['body'] as unknown[])[0]).toMatchObject({ inlines: [{ text: words }] });
    expect(mail.text.startsWith(`${words}.\n`)).toBe(true);
    expect(event.modified).toBe(notice.modified);
    expect(lifecycleEvent.safeParse(event).error).toBeUndefined();
  });
});

function actionsOf(card: ReturnType<typeof slackCard>): unknown {
  return (card['blocks'] as { type: string }[]).find(({ type }) => type === 'actions') ?? null;
}

it('mails are told apart by their subjects: what is asked for, and how severe its effect would be', () => {
  const subjectOf = (over: Partial<Notice>) => mailOf({ ...hostile('wire_transfer'), ...over }, {}).subject;
  expect(subjectOf({})).toBe(`Gate: A call waits for a decision: "wire_transfer" (${ID})`);
  expect(subjectOf({ severity: 'destructive', tool: 'drop_table' })).toBe(
    `Gate: A call waits for a decision, destructive: "drop_table" (${ID})`,
  );
  expect(subjectOf({ tool: 'A'.repeat(100) })).toBe(`Gate: A call waits for a decision: "${'A'.repeat(59)}…" (${ID})`);
  expect(subjectOf({ deleted: true, tool: '', status: 'denied', phase: 'resolve', kind: 'resolve' })).toBe(
    `Gate: A call was denied (${ID})`,
  );
});

it('links lead to the decision while a row waits, and to the row afterwards', () => {
  const [waits, over] = [hostile('x'), endOf('x')];
  expect(places(waits)).toEqual({
    open: `https://console.example/hil/${waits.pending_id}`,
    approve: expect.stringMatching(
      /^https:\/\/console\.example\/decide\/redeem\?token=[0-9a-f-]{36}\.approve\.\d+\.[0-9a-f]{64}$/,
    ),
    deny: expect.stringContaining('.deny.'),
  });
  expect(places(waits)).toEqual(places(waits));
  expect(places(over)).toEqual({ open: `https://console.example/hil/${over.pending_id}` });
  expect(placesOf(undefined, Buffer.alloc(32, 7))(waits)).toEqual({});
});
