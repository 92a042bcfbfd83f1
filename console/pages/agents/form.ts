import { type Action, type Form, REASON, type Shown, type Visit } from '../../visit.js';
import { agentAddress, agentIn } from './address.js';

/** A form of the page of an agent that was refused, with what was typed. */
export interface Refused {
  readonly of:
    | 'stop'
    | 'force-hil'
    | 'end'
    | 'release'
    | 'revoke-grant'
    | 'team'
    | 'describe'
    | 'narrow'
    | 'decommission';
  readonly form: Form;
}

/** A form about one agent, which leads back to its page. */
export const agentForm = (
  form: Pick<Action, 'path' | 'does'> & {
    readonly of: Refused['of'];
    /** What people write into it besides a reason. */
    readonly written?: Action['written'];
    readonly shown: (visit: Visit, refused: Refused) => Promise<Shown>;
  },
  work: (visit: Visit, filled: Form) => Promise<{ readonly asked?: string }>,
): Action => ({
  of: 'stops',
  path: form.path,
  role: 'admin',
  does: form.does,
  written: { ...form.written, ...REASON },
  act: async (visit, filled) => agentAddress(agentIn(visit), await work(visit, filled)),
  refused: (visit, filled) => form.shown(visit, { of: form.of, form: filled }),
});
