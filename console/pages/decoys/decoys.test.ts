import { describe, expect, it } from '@jest/globals';
import { identityHere, pageOf, sendForm } from '../../../test/support/console-over-identity.js';
import { fieldsIn, formIn, rowsOf, wordsIn } from '../../../test/support/html.js';

const VALUE = 'DE02 1203 0000 0000 2020 51';
const here = identityHere();
const add = (typed: Readonly<Record<string, string>>) => sendForm(here.first, '/decoys', '/decoys/add', typed);
const rows = async (label: string) => rowsOf(await pageOf(here.first, '/decoys'), label).map(wordsIn);

describe('the page of decoys', () => {
  it('says that there is none, and who may set one', async () => {
    const text = wordsIn(await pageOf(here.first, '/decoys'));
    expect(text).toContain('There is no decoy.');
    expect(text).toContain('Nobody did.');
  });

  it('sets and takes away, each with a row of the ledger in the person’s name, and shows no value whole', async () => {
    expect(await add({ decoy: 'vault_layout', advertised: 'yes', reason: 'bait' })).toMatchObject({
      status: 303,
      headers: { location: '/decoys' },
    });
    await add({ decoy: 'canary', decoy_value: VALUE, containment: 'none' });
    expect(await rows('Decoys')).toEqual([
      'canary value DE02… (27) the call is denied, and nothing else 0 operator:dev Take away',
      'vault_layout tool in lists its agent is suspended 0 operator:dev Take away',
    ]);
    expect(await pageOf(here.first, '/decoys')).not.toContain('1203');
    expect((await here.identity.store.decoys('acme')).map(({ value }) => value)).toEqual([VALUE, null]);
    expect(await sendForm(here.first, '/decoys', '/decoys/remove')).toMatchObject({ status: 303 });
    expect(await rows('Decoys')).toHaveLength(1);
    expect(here.told()).toEqual(['decoy.registered', 'decoy.registered', 'decoy.retired']);
  });

  it.each([
    [{ decoy: 'a b' }, 'A decoy has a name of letters'],
    [{ decoy: 'canary', decoy_value: '123' }, 'a value has at least 8 letters and digits'],
    [{ decoy: 'canary', decoy_value: VALUE, advertised: 'yes' }, 'only a tool is shown'],
  ])('refuses %j, and shows again what was typed', async (typed, said) => {
    const refused = await add({ ...typed, reason: 'odd' });
    expect([refused.status, wordsIn(refused.text)]).toEqual([400, expect.stringContaining(said)]);
    expect(fieldsIn(formIn(refused.text, '/decoys/add'))).toMatchObject({ decoy: typed.decoy, reason: 'odd' });
    expect(await here.identity.store.decoys('acme')).toEqual([]);
  });

  it('says who touched one, and what was done', async () => {
    await add({ decoy: 'vault_layout' });
    const [decoy] = await here.identity.store.decoys('acme');
    const counted = { tenant: 'acme', agent: 'a-bot', hits: 3, lastMs: here.console.hil.now, correlationId: 'a-call' };
    await here.identity.store.keepHits({ decoyId: decoy?.id ?? '', ...counted }, 'force_hil');
    const [hit] = await rows('Hits');
    expect(hit).toMatch(/^a-bot vault_layout 3 .* a-call a person decides about its calls$/);
  });
});
