import { keyRing } from '../../domain/crypto/key-ring.js';
import { openLedger } from './whole-ledger.js';
import type { StoreTarget } from '../../adapters/store/database.js';
import { openClasses } from './tool-classes.js';

/**
 * A process that classes a tool and is killed in the middle of it: `before` the ledger is told, `after` it was told and before the set follows,
 * or `withdrawn`: right after it withdrew what it found unfinished. Arguments: the two targets as JSON, the key as hex, the upstream, the point,
 * tool and class.
 */
const [calls, rows, key, upstream, point, tool, said] = process.argv.slice(2) as [string, ...string[]] & string[];
const die = () => process.kill(process.pid, 'SIGKILL');
const target = (text: string | undefined) => JSON.parse(text ?? '') as StoreTarget;
const keys = keyRing(new Map([['k', Buffer.from(key ?? '', 'hex')]]));
const ledger = await openLedger({ target: target(rows), sidecarKeys: keys });
const gate = await openClasses({
  target: target(calls),
  keys,
  upstream: upstream ?? '',
  graceMs: 0,
  ledger: {
    byCorrelation: (id, scope) => ledger.byCorrelation(id, scope),
    async append(added) {
      const withdraws = added[0]?.event_kind === 'tool_class.withdrawn';
      if (point === 'before' && !withdraws) die();
      const receipts = await ledger.append(added);
      if (point === (withdraws ? 'withdrawn' : 'after')) die();
      return receipts;
    },
  },
});
await gate.classing.set(
  { tenant: 'acme', subject: 'operator:dev' },
  { unlisted: true, tool: tool ?? '', class: said as 'change' },
);
