import {
  AGENT_PAGE,
  DESCRIBE_AGENT,
  END_AGENT,
  END_FORCE_HIL,
  FORCE_HIL,
  GIVE_AGENT,
  NARROW_AGENT,
  RELEASE_AGENT,
  REVOKE_GRANT,
  STOP_AGENT,
} from './pages/agents/agent.js';
import { AGENTS_PAGE } from './pages/agents/agents.js';
import { AUDIT } from './pages/audit/audit.js';
import { FORGET_SEARCH, SAVE_SEARCH } from './pages/audit/keep-search.js';
import { BRAIN } from './pages/brain/brain.js';
import { CALL, FIND_CALL } from './pages/call/call.js';
import {
  ATTACH_TO_CASE,
  CASE,
  CASES,
  CLASSIFY_CASE,
  NOTE_IN_CASE,
  OPEN_CASE,
  SET_CASE_STATUS,
} from './pages/cases/cases.js';
import { COMPLIANCE } from './pages/compliance/compliance.js';
import { EXPORT_NOW, EXPORTS, REGULATORY } from './pages/exports/exports.js';
import { DEVICE, DEVICE_ALLOW, DEVICE_REFUSE } from './pages/device/device.js';
import { GRANTS, TAKE_GRANT_BACK } from './pages/grants/grants.js';
import { HUNT } from './pages/hunt/hunt.js';
import { NARRATIVE } from './pages/narrative/narrative.js';
import { MEASUREMENTS, WITHDRAW_MEASUREMENT } from './pages/measurements/measurements.js';
import { HEALTH } from './pages/health/health.js';
import { ACTIVATE, DEACTIVATE, REMOVE } from './pages/policies/change.js';
import { ACCEPT_SUGGESTION, MINE, SUGGESTIONS, TRY_SUGGESTION } from './pages/mined/mined.js';
import { POLICIES } from './pages/policies/policies.js';
import { POLICY } from './pages/policies/policy.js';
import { DIFF, ROLLBACK, VERSION } from './pages/policies/versions.js';
import {
  CHECK_NEW,
  CHECK_POLICY,
  CREATE_POLICY,
  EDIT_POLICY,
  NEW_POLICY,
  SAVE_POLICY,
  TRY_NEW,
  TRY_POLICY,
} from './pages/policy-editor/editor.js';
import { LAB, RUN_LAB } from './pages/policy-lab/lab.js';
import { BULK, BULK_APPROVE, BULK_DENY } from './pages/queue/bulk.js';
import { NOTE, SAVE_NOTE, SUGGEST_NOTE } from './pages/note/note.js';
import { APPROVE, ASSIGN, DENY, MODIFY } from './pages/queue/decide.js';
import { CHANGE_MORE, MODIFY_FORM, PREVIEW } from './pages/queue/modify.js';
import { HOME, QUEUE, REVIEW } from './pages/queue/queue.js';
import { REDEEM } from './pages/redeem/redeem.js';
import { SETTINGS } from './pages/settings/settings.js';
import { ADD_DECOY, DECOYS, REMOVE_DECOY } from './pages/decoys/decoys.js';
import { ADD_UPSTREAM, RETIRE_UPSTREAM, UPSTREAMS } from './pages/upstreams/upstreams.js';
import { RELEASE_STOP, STOP_TENANT, STOP_TOOL, STOPS } from './pages/stops/stops.js';
import { INSTALL_TEMPLATE, SET_TEMPLATE, TEMPLATE, TRY_TEMPLATE } from './pages/templates/template.js';
import { TEMPLATES } from './pages/templates/templates.js';
import { SET_BUDGET, TENANTS } from './pages/tenants/tenants.js';
import { END_SESSION, LINK_CHAT, UNLINK_CHAT, UNLINK_CHAT_OF, YOU } from './pages/you/you.js';
import { isAtLeast, type Role } from './roles.js';
import type { Action, Page } from './visit.js';

/** Every page, in the order of the navigation. A new one is a folder under `pages/` and a line here. */
export const PAGES: readonly Page[] = [
  HOME,
  QUEUE,
  REVIEW,
  MODIFY_FORM,
  NOTE,
  REDEEM,
  AUDIT,
  HUNT,
  NARRATIVE,
  CALL,
  FIND_CALL,
  CASES,
  CASE,
  AGENTS_PAGE,
  AGENT_PAGE,
  GRANTS,
  MEASUREMENTS,
  STOPS,
  DECOYS,
  UPSTREAMS,
  POLICIES,
  POLICY,
  VERSION,
  DIFF,
  NEW_POLICY,
  EDIT_POLICY,
  LAB,
  SUGGESTIONS,
  TEMPLATES,
  TEMPLATE,
  EXPORTS,
  COMPLIANCE,
  TENANTS,
  BRAIN,
  HEALTH,
  SETTINGS,
  YOU,
  DEVICE,
];

/** Every form that changes something. */
export const ACTIONS: readonly Action[] = [
  APPROVE,
  DENY,
  PREVIEW,
  CHANGE_MORE,
  MODIFY,
  ASSIGN,
  SAVE_NOTE,
  SUGGEST_NOTE,
  BULK,
  BULK_APPROVE,
  BULK_DENY,
  SAVE_SEARCH,
  FORGET_SEARCH,
  OPEN_CASE,
  NOTE_IN_CASE,
  CLASSIFY_CASE,
  ATTACH_TO_CASE,
  SET_CASE_STATUS,
  STOP_AGENT,
  FORCE_HIL,
  END_FORCE_HIL,
  RELEASE_AGENT,
  REVOKE_GRANT,
  DESCRIBE_AGENT,
  GIVE_AGENT,
  NARROW_AGENT,
  END_AGENT,
  TAKE_GRANT_BACK,
  WITHDRAW_MEASUREMENT,
  STOP_TOOL,
  STOP_TENANT,
  RELEASE_STOP,
  ADD_UPSTREAM,
  RETIRE_UPSTREAM,
  ADD_DECOY,
  REMOVE_DECOY,
  SET_BUDGET,
  EXPORT_NOW,
  REGULATORY,
  CREATE_POLICY,
  CHECK_NEW,
  TRY_NEW,
  SAVE_POLICY,
  CHECK_POLICY,
  TRY_POLICY,
  ACTIVATE,
  DEACTIVATE,
  REMOVE,
  ROLLBACK,
  RUN_LAB,
  TRY_TEMPLATE,
  INSTALL_TEMPLATE,
  SET_TEMPLATE,
  MINE,
  TRY_SUGGESTION,
  ACCEPT_SUGGESTION,
  DEVICE_ALLOW,
  DEVICE_REFUSE,
  END_SESSION,
  LINK_CHAT,
  UNLINK_CHAT,
  UNLINK_CHAT_OF,
];

/** Whether somebody of a role may send the form at a path, of those that this Gate has. */
export function mayPost(had: readonly Action[], path: Action['path'], role: Role): boolean {
  const action = ACTIONS.find((one) => one.path === path);
  if (action === undefined) throw new Error(`there is no form at ${path}`);
  return had.includes(action) && isAtLeast(role, action.role);
}
