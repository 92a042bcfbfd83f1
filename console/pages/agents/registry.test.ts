import { describe, expect, it } from '@jest/globals';
import { identityHere, pageOf, sendForm } from '../../../test/support/console-over-identity.js';
import { fieldsIn, formIn, partsIn, wordsIn } from '../../../test/support/html.js';

const here = identityHere();
const AGENT = '/agents/a-bot';
const said = async () =>
  wordsIn(partsIn(await pageOf(here.first, AGENT), 'section', { 'aria-labelledby': 'registry' })[0] ?? '');
const registered = () =>
  here.identity.store.register(
    { tenant: 'acme', agent: 'a-bot', envelope: { scope: ['tool:pay', 'tool:read'], yellow: ['yellow:pay'] } },
    { by: 'operator:dev', nowMs: here.console.hil.now },
  );
const send = (form: string, typed: Readonly<Record<string, string>>) =>
  sendForm(here.first, AGENT, `${AGENT}/${form}`, typed);

describe('what is said of an agent, on its page', () => {
  it('is nothing where identity does not know it', async () => {
    expect(await said()).toBe('');
  });

  it('is whose it is, what it is for and what may be delegated to it, changed in the person’s name', async () => {
    await registered();
    expect(await said()).toContain(
      'Nobody said what it is for. It is of no team. Nobody certified it. People may delegate to it: tool:pay tool:read yellow:pay',
    );
    for (const [form, typed] of [
      ['describe', { agent_description: 'pays refunds' }],
      ['team', { owner_team: 'payments', reason: 'moved' }],
      ['narrow', { scopes: 'tool:pay  yellow:pay' }],
    ] as const)
      expect(await send(form, typed)).toMatchObject({ status: 303, headers: { location: AGENT } });
    expect(await said()).toContain(
      'pays refunds It is of the team payments Nobody certified it. People may delegate to it: tool:read',
    );
    expect(here.told()).toEqual([
      'agent.registered',
      'agent.description_changed',
      'agent.owner_team_transferred',
      'agent.envelope_narrowed',
    ]);
  });

  it.each([
    ['team', { owner_team: 'a,b' }, 400, 'A team has'],
    ['narrow', { scopes: 'tool:none' }, 422, 'envelope_not_narrower'],
    ['decommission', { agent_typed: 'b-bot' }, 400, 'Type the name of the agent'],
  ])(
    'is not changed by %s where it is refused, and what was typed stands there',
    async (form, typed, status, words) => {
      await registered();
      const refused = await send(form, { ...typed, reason: 'odd' });
      expect([refused.status, wordsIn(refused.text)]).toEqual([status, expect.stringContaining(words)]);
      expect(fieldsIn(formIn(refused.text, `${AGENT}/${form}`))).toMatchObject({ ...typed, reason: 'odd' });
      expect(here.told().filter((kind) => kind !== 'agent.registered')).toEqual([]);
    },
  );

  it('ends with the agent, whose name is typed', async () => {
    await registered();
    expect(await send('decommission', { agent_typed: 'a-bot' })).toMatchObject({ status: 303 });
    const page = await pageOf(here.first, AGENT);
    expect(wordsIn(page)).toContain('ended for good');
    expect(page).not.toContain('/decommission');
  });
});
