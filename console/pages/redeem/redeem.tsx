import { Empty } from '../../ui/parts.js';
import type { Page } from '../../visit.js';
import { queueShown } from '../queue/queue.js';

const WHY_NOT: Readonly<Record<string, string>> = {
  invalid: 'This link is not one that this Gate made, or it was made under another key.',
  expired: 'This link is too old. The call may still wait: look in the queue.',
  gone: 'The call of this link is not there any more, or is not of your tenant.',
};

/**
 * Where decision links of messages lead (docs/architecture/reviews.md#decision-links): the call, as everybody else sees it. A link decides
 * nothing by itself; the forms of the page do.
 */
export const REDEEM: Page = {
  path: '/decide/redeem',
  of: 'decision-links',
  role: 'viewer',
  async show(visit) {
    const link = (visit.query['token'] ?? '').slice(0, 512);
    const { reason, pending_id: id, action } = await visit.services.hil.verifyLink(link);
    if (id === undefined || reason === 'invalid' || reason === 'gone')
      return {
        title: 'No such link',
        status: 404,
        body: (
          <section>
            <h1>No such link</h1>
            <Empty>
              {WHY_NOT[reason] ?? WHY_NOT['invalid']} <a href="/hil">The queue</a>
            </Empty>
          </section>
        ),
      };
    const shown = await queueShown({ ...visit, query: { ...visit.query, link } }, id);
    if (reason === 'expired') return { ...shown, notice: { kind: 'bad', text: WHY_NOT['expired'] } };
    if (reason === 'ok')
      return {
        ...shown,
        notice: {
          kind: 'good',
          text: `You followed a link to ${action} this call. Nothing is decided yet: ${
            visit.mayPost('/hil/:id/approve') ? 'read it, then decide below' : 'an approver decides it'
          }.`,
        },
      };
    return {
      ...shown,
      notice: { kind: 'bad', text: 'This call is decided or over already; the link does nothing any more.' },
    };
  },
};
