import { mode } from '../contracts/call.js';
import { csv, onOff, setting } from './env.js';

/** How answers of tools are judged, for the edition whose settings begin so. */
export const responseSettings = <const Prefix extends 'GATE_PROXY' | 'GATE_LITE'>(prefix: Prefix) =>
  ({
    responseMode: setting(
      `${prefix}_EGRESS_MODE`,
      mode.default('enforce'),
      '`enforce`: what a tool, a resource or a prompt answers is marked, cut or withheld as policy says (`responses` of its data); `observe`: it passes, and the ledger says what would have been done.',
    ),
    responseScanTools: setting(
      `${prefix}_EGRESS_SCAN_TOOLS`,
      csv,
      'Tools whose answers are searched for secrets and personal data too, separated by commas; `*` for all. Instructions to a model are looked for in every answer.',
    ),
  }) as const;

export const quarantineSetting = (prefix: 'GATE_PROXY' | 'GATE_LITE') =>
  setting(
    `${prefix}_QUARANTINE_DEFINITIONS`,
    onOff,
    'Leaves tools out of lists, and refuses their calls, whose definition is new, changed or instructs a model, until an operator accepts them (`gate pins`).',
  );

export const RESPONSE_SETTINGS = responseSettings('GATE_PROXY');
