import { describe, expect, it } from '@jest/globals';
import { identityHere, pageOf, sendForm } from '../../../test/support/console-over-identity.js';
import { fieldsIn, formIn, rowsOf, wordsIn } from '../../../test/support/html.js';

const here = identityHere();
const PIN = `sha256:${'a'.repeat(64)}`;
const URL_OF = 'https://tools.acme.example/mcp';
const add = (typed: Readonly<Record<string, string>>) => sendForm(here.first, '/upstreams', '/upstreams/add', typed);
const rows = async () => rowsOf(await pageOf(here.first, '/upstreams'), 'Upstreams').map(wordsIn);

describe('the page of upstreams', () => {
  it('says that there is none', async () => {
    expect(wordsIn(await pageOf(here.first, '/upstreams'))).toContain('Nobody vouched for one.');
  });

  it('vouches and retires, each with a row of the ledger in the person’s name', async () => {
    const typed = { upstream: 'crm', upstream_url: URL_OF, tls_pin: PIN, owner_team: 'payments', reason: 'ours' };
    expect(await add(typed)).toMatchObject({ status: 303, headers: { location: '/upstreams' } });
    expect(await rows()).toEqual([
      expect.stringMatching(/^crm https:.* the key sha256:a+ payments .* operator:dev Retire$/),
    ]);
    const [upstream] = await here.identity.store.upstreams('acme');
    const path = `/upstreams/${upstream?.id}/retire`;
    expect(await sendForm(here.first, '/upstreams', path)).toMatchObject({ status: 303 });
    expect(await rows()).toEqual([expect.stringMatching(/retired .* operator:dev$/)]);
    expect(here.told()).toEqual(['upstream.registered', 'upstream.retired']);
  });

  it.each([
    [{ upstream: 'a b', upstream_url: URL_OF }, 400, 'A name has letters'],
    [{ upstream: 'crm', upstream_url: 'http://tools.example' }, 422, 'https'],
    [{ upstream: 'crm', upstream_url: URL_OF, tls_pin: 'abc' }, 400, 'sha256:'],
    [{ upstream: 'crm', upstream_url: URL_OF, spiffe_id: 'abc' }, 400, 'spiffe://'],
  ])('refuses %j, and shows again what was typed', async (typed, status, said) => {
    const refused = await add({ ...typed, reason: 'odd' });
    expect([refused.status, wordsIn(refused.text)]).toEqual([status, expect.stringContaining(said)]);
    expect(fieldsIn(formIn(refused.text, '/upstreams/add'))).toMatchObject({ upstream: typed.upstream, reason: 'odd' });
    expect(await here.identity.store.upstreams('acme')).toEqual([]);
  });
});
