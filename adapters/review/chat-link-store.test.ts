import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ChatLinkStore } from '../../domain/review/chat-links.js';
import { hilMigrations } from '../../migrations/hil.js';
import { openStore } from '../store/database.js';
import { askedOf } from '../store/jobs.js';
import type { Ask } from '../store/statement.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { openReviewStore, type WholeReviews } from '../../test/support/whole-reviews.js';
import { chatLinkStoreOver } from './chat-link-store.js';

const T0 = Date.parse('2026-11-24T08:00:00.000Z');

describe.each(STORES)('links of people to their accounts in chats: %s', (kind) => {
  let place: TestLedgerPlace;
  let store: WholeReviews;
  let links: ChatLinkStore;
  beforeEach(async () => {
    place = await ledgerPlace(kind, { migrated: hilMigrations });
    store = await openReviewStore({ target: place.target, payloadKeys: place.keys, clock: () => T0 });
    links = store.chatLinks;
    await links.upsert('acme', { oidc_sub: 'ada', slack_user_id: 'U1', teams_user_id: 'T1' });
    // Each of what follows at the same time has its connection by then, so that both read before one of them writes.
    await Promise.all(Array.from({ length: 4 }, () => links.get('acme', 'ada')));
  }, 60_000);
  afterEach(async () => {
    await store.close();
    await place.remove();
  });
  const deciders = async () => ({
    U1: (await links.linksOf('slack', 'U1')).map(({ oidc_sub }) => oidc_sub),
    T1: (await links.linksOf('teams', 'T1')).map(({ oidc_sub }) => oidc_sub),
  });

  it('are gone where both accounts were taken away at the same time', async () => {
    expect(await Promise.all([links.clear('acme', 'ada', 'slack'), links.clear('acme', 'ada', 'teams')])).toEqual([
      true,
      true,
    ]);
    expect(await deciders()).toEqual({ U1: [], T1: [] });
    expect(await links.get('acme', 'ada')).toBeNull();
  });

  it('are taken away once: the other who does it at the same time finds none', async () => {
    const both = await Promise.all([links.clear('acme', 'ada', 'slack'), links.clear('acme', 'ada', 'slack')]);
    expect(both.filter((wasThere) => wasThere)).toHaveLength(1);
    expect(await deciders()).toEqual({ U1: [], T1: ['ada'] });
  });

  it('do not come back by an account that the person links at that time', async () => {
    await Promise.all([
      links.clear('acme', 'ada', 'slack'),
      links.upsert('acme', { oidc_sub: 'ada', teams_user_id: 'T2' }),
    ]);
    expect(await links.get('acme', 'ada')).toMatchObject({ slack_user_id: null, teams_user_id: 'T2' });
    await Promise.all([
      links.clear('acme', 'ada', 'teams'),
      links.upsert('acme', { oidc_sub: 'ada', slack_user_id: 'U2' }),
    ]);
    expect(await links.get('acme', 'ada')).toMatchObject({ slack_user_id: 'U2', teams_user_id: null });
    expect(await deciders()).toEqual({ U1: [], T1: [] });
  });

  it('do not come back by it where the person himself is taken out', async () => {
    const bob = { tenant: 'acme', subject: 'webauthn:bob' };
    await store.passkeys.allowRecovery(
      { ...bob, token_sha256: 'a'.repeat(64), expires_ms: T0 + 60_000 },
      { as: 'approver', at_ms: T0 },
    );
    await links.upsert('acme', { oidc_sub: bob.subject, slack_user_id: 'U3' });
    await Promise.all([
      store.passkeys.remove(bob),
      links.upsert('acme', { oidc_sub: bob.subject, teams_user_id: 'T3' }),
    ]);
    expect(await links.linksOf('slack', 'U3')).toEqual([]);
  });

  it('are both there where a person links two at the same time, also his first', async () => {
    await Promise.all([
      links.upsert('acme', { oidc_sub: 'eve', slack_user_id: 'U4' }),
      links.upsert('acme', { oidc_sub: 'eve', teams_user_id: 'T4' }),
    ]);
    expect(await links.get('acme', 'eve')).toMatchObject({ slack_user_id: 'U4', teams_user_id: 'T4' });
  });

  describe('of one account that two people link at the same moment', () => {
    /** Links whose first two looks at who has an account end together, both of them before anything is written. */
    async function meeting(run: (together: ChatLinkStore) => Promise<void>) {
      const opened = await openStore(place.target, hilMigrations);
      let looks = 0;
      let meet: () => void = () => undefined;
      const met = new Promise<void>((resolve) => (meet = resolve));
      const ask: Ask = async (of, ...values) => {
        const answer = await askedOf(opened.db)(of, ...values);
        if (/^select .* where (?:slack|teams)_user_id/.test(of.text)) {
          if ((looks += 1) === 2) meet();
          await met;
        }
        return answer;
      };
      try {
        await run(chatLinkStoreOver({ ...opened, ask }, { keys: place.keys, clock: () => T0 }));
      } finally {
        await opened.close();
      }
    }

    it.each([
      ['two who have no link yet', ['eve', 'fay']],
      ['two who have one', ['ada', 'bob']],
      ['one who has one and one who has none', ['ada', 'eve']],
    ] as const)('one has it, and the other is told that it is linked: %s', async (_, both) => {
      await links.upsert('acme', { oidc_sub: 'bob', teams_user_id: 'T5' });
      await meeting(async (together) => {
        const answers = await Promise.allSettled(
          both.map((oidc_sub) => together.upsert('acme', { oidc_sub, slack_user_id: 'U9' })),
        );
        const [owner, ...others] = (await together.linksOf('slack', 'U9')).map(({ oidc_sub }) => oidc_sub);
        expect(others).toEqual([]);
        for (const [index, answer] of answers.entries())
          expect(answer).toMatchObject(
            both[index] === owner
              ? { status: 'fulfilled', value: { oidc_sub: owner, slack_user_id: 'U9' } }
              : { status: 'rejected', reason: { code: 'channel_already_linked', status: 409 } },
          );
        const later = { oidc_sub: 'gil', slack_user_id: 'U9' };
        await expect(together.upsert('acme', later)).rejects.toMatchObject({ code: 'channel_already_linked' });
      });
    });
  });

  describe('made by a code', () => {
    const CODE = 'c'.repeat(64);
    const eve = { oidc_sub: 'eve', slack_user_id: 'U9' };
    const invalid = { code: 'link_code_invalid' };
    const used = async () => (await place.sql('select digest from chat_clicks')).map(({ digest }) => digest);

    it('use it up: it links nobody again', async () => {
      expect(await links.upsert('acme', eve, CODE)).toMatchObject(eve);
      expect(await used()).toEqual([CODE]);
      await expect(links.upsert('acme', eve, CODE)).rejects.toMatchObject(invalid);
      await expect(links.upsert('acme', { ...eve, oidc_sub: 'ada' }, CODE)).rejects.toMatchObject(invalid);
      await expect(links.upsert('globex', eve, CODE)).rejects.toMatchObject(invalid);
      expect((await links.linksOf('slack', 'U9')).map(({ oidc_sub }) => oidc_sub)).toEqual(['eve']);
    });

    it('use it up also where it is refused, and leave everybody what he had', async () => {
      const taken = { oidc_sub: 'eve', slack_user_id: 'U1' };
      await expect(links.upsert('acme', taken, CODE)).rejects.toMatchObject({ code: 'channel_already_linked' });
      expect(await used()).toEqual([CODE]);
      await links.clear('acme', 'ada', 'slack');
      await expect(links.upsert('acme', taken, CODE)).rejects.toMatchObject(invalid);
      expect(await links.get('acme', 'eve')).toBeNull();
    });

    it.each([
      ['one person twice', ['eve', 'eve']],
      ['one who has a link twice', ['ada', 'ada']],
      ['two people', ['eve', 'fay']],
      ['people of two tenants', ['eve', 'globex/eve']],
    ] as const)('are made once, also by %s at the same time', async (_, both) => {
      const answers = await Promise.allSettled(
        both.map((who) => {
          const [oidc_sub = '', tenant = 'acme'] = who.split('/').toReversed();
          return links.upsert(tenant, { oidc_sub, slack_user_id: 'U9' }, CODE);
        }),
      );
      expect(answers.toSorted((one, other) => one.status.localeCompare(other.status))).toMatchObject([
        { status: 'fulfilled', value: { slack_user_id: 'U9' } },
        { status: 'rejected', reason: invalid },
      ]);
      expect(await links.linksOf('slack', 'U9')).toHaveLength(1);
      expect(await used()).toEqual([CODE]);
    });

    it('are made once also where the other is faster between the look at the code and the one at the account', async () => {
      const opened = await openStore(place.target, hilMigrations);
      let isFirst = true;
      const ask: Ask = async (of, ...values) => {
        const answer = await askedOf(opened.db)(of, ...values);
        if (isFirst && of.text.startsWith('select digest from chat_clicks')) {
          isFirst = false;
          await links.upsert('acme', eve, CODE);
        }
        return answer;
      };
      const slower = chatLinkStoreOver({ ...opened, ask }, { keys: place.keys, clock: () => T0 });
      await expect(slower.upsert('acme', { ...eve, oidc_sub: 'fay' }, CODE)).rejects.toMatchObject(invalid);
      await opened.close();
      expect(isFirst).toBe(false);
      expect((await links.linksOf('slack', 'U9')).map(({ oidc_sub }) => oidc_sub)).toEqual(['eve']);
    });

    it.each([
      ['a first link', 'insert', eve],
      ['one more account', 'update', { oidc_sub: 'ada', slack_user_id: 'U9' }],
    ] as const)(
      'are none where the store ends between them and their code, which links then: %s',
      async (_, after, link) => {
        const before = await links.get('acme', link.oidc_sub);
        await endsAfter(after);
        await expect(links.upsert('acme', link, CODE)).rejects.toMatchObject({ code: 'store_unavailable' });
        expect(await links.get('acme', link.oidc_sub)).toEqual(before);
        expect(await used()).toEqual([]);
        await place.sql(kind === 'sqlite' ? 'drop trigger ends' : 'drop function ends cascade');
        expect(await links.upsert('acme', link, CODE)).toMatchObject(link);
        expect(await used()).toEqual([CODE]);
      },
    );

    /** The store's side of a write ends right after its link: on Postgres the server's process, on SQLite (kill -9: test/fault) the transaction. */
    async function endsAfter(write: 'insert' | 'update'): Promise<void> {
      if (kind === 'postgres')
        await place.sql(
          `create function ends() returns trigger language plpgsql as $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`,
        );
      await place.sql(
        `create trigger ends after ${write} on chat_links for each row ${kind === 'sqlite' ? `begin select raise(rollback, 'it ends'); end` : 'execute function ends()'}`,
      );
    }
  });

  it('stay as they were where the store fails, and that is what is told', async () => {
    const ask: Ask = (of, ...values) =>
      of.text.startsWith('insert') ? Promise.reject(new Error('the disk is full')) : asking(of, ...values);
    const opened = await openStore(place.target, hilMigrations);
    const asking = askedOf(opened.db);
    const failing = chatLinkStoreOver({ ...opened, ask }, { keys: place.keys, clock: () => T0 });
    await expect(failing.upsert('acme', { oidc_sub: 'eve', slack_user_id: 'U9' })).rejects.toMatchObject({
      code: 'store_unavailable',
    });
    await opened.close();
    expect(await links.get('acme', 'eve')).toBeNull();
  });

  it('are nobody’s where Gate did not write them, and one that is linked anew takes nothing over from such a row', async () => {
    await place.sql(`update chat_links set slack_user_id = 'U666'`);
    expect(await links.get('acme', 'ada')).toBeNull();
    expect(await links.upsert('acme', { oidc_sub: 'ada', teams_user_id: 'T1' })).toMatchObject({
      slack_user_id: null,
      teams_user_id: 'T1',
    });
    expect(await links.linksOf('slack', 'U666')).toEqual([]);
    expect(await deciders()).toEqual({ U1: [], T1: ['ada'] });
  });

  it('keep no account from anybody where Gate did not write them: whoever links it next has it', async () => {
    await place.sql(`update chat_links set mac = 'x'`);
    expect(await links.upsert('acme', { oidc_sub: 'eve', slack_user_id: 'U1' })).toMatchObject({ slack_user_id: 'U1' });
    expect(await deciders()).toEqual({ U1: ['eve'], T1: [] });
    await expect(links.upsert('acme', { oidc_sub: 'ada', slack_user_id: 'U1' })).rejects.toMatchObject({
      code: 'channel_already_linked',
    });
    expect(await links.upsert('acme', { oidc_sub: 'ada', teams_user_id: 'T1' })).toMatchObject({ teams_user_id: 'T1' });
    expect(await deciders()).toEqual({ U1: ['eve'], T1: ['ada'] });
  });

  it('decide also where somebody set an invalid time of the last click, and are nobody’s where the time of the link is invalid', async () => {
    await place.sql('update chat_links set verified_ms = 9223372036854775807');
    expect(await links.get('acme', 'ada')).toMatchObject({ slack_user_id: 'U1', last_verified: null });
    expect(await deciders()).toEqual({ U1: ['ada'], T1: ['ada'] });
    await place.sql('update chat_links set linked_ms = 9223372036854775807');
    expect(await deciders()).toEqual({ U1: [], T1: [] });
    expect(await links.clear('acme', 'ada', 'slack')).toBe(true);
  });

  it('are taken away also where Gate did not write them, whole', async () => {
    await place.sql(`update chat_links set mac = 'x'`);
    expect(await links.clear('globex', 'ada', 'slack')).toBe(false);
    expect(await links.clear('acme', 'ada', 'slack')).toBe(true);
    expect(await links.clear('acme', 'ada', 'teams')).toBe(false);
    expect(await place.sql('select * from chat_links')).toEqual([]);
  });

  it('are nobody’s under a second name of an operator, which an earlier Gate took, and keep the account from nobody', async () => {
    await links.upsert('acme', { oidc_sub: 'operator:ada', slack_user_id: 'U5' });
    expect(await links.linksOf('slack', 'U5')).toEqual([]);
    expect(await links.get('acme', 'operator:ada')).toBeNull();
    await links.upsert('acme', { oidc_sub: 'eve', slack_user_id: 'U5' });
    expect(await links.linksOf('slack', 'U5')).toMatchObject([{ oidc_sub: 'eve' }]);
  });
});
