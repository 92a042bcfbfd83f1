import { z } from 'zod';
import {
  agentActivity,
  behavioralBaseline,
  envelopeRecommendations,
  fleetBehavioralDiff,
  modelUpgradeCanary,
  silentAgents,
  spend,
} from '../../../contracts/ledger-reports.js';
import { tenantName } from '../../../contracts/erasure.js';
import { GateError } from '../../../domain/errors.js';
import type { LedgerReports } from '../../../adapters/evidence/reports/reports.js';
import type { ServiceApp } from '../../plugins/app.js';
import { agentLabel, scopeOf, scopeQuery, time, windowOf } from '../query.js';

const MONTH = /^(?:19[7-9]\d|2\d{3})-(?:0[1-9]|1[0-2])$/;
const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most);
const days = (fallback: number) => whole(1, 365).default(fallback);
const limit = whole(1, 1_000).default(100);

/** Reports over rows: behaviour, models, silence, cost (docs/architecture/ledger-reads.md#reports). Computed when read. */
export function analysisRoutes({ app, reports }: { readonly app: ServiceApp; readonly reports: LedgerReports }): void {
  app.get(
    '/analysis/agent-behavioral-baseline',
    {
      schema: {
        querystring: z.object({ ...scopeQuery, agent_id: agentLabel, baseline_days: days(14), recent_days: days(7) }),
        response: { 200: behavioralBaseline },
      },
    },
    ({ query }) =>
      reports.behavioralBaseline({
        ...scopeOf(query),
        agentId: query.agent_id,
        baselineDays: query.baseline_days,
        recentDays: query.recent_days,
      }),
  );

  app.get(
    '/analysis/fleet-behavioral-diff',
    {
      schema: {
        querystring: z.object({ tenant: tenantName.optional(), baseline_days: days(14), recent_days: days(7), limit }),
        response: { 200: fleetBehavioralDiff },
      },
    },
    ({ query }) =>
      reports.fleetBehavioralDiff({
        baselineDays: query.baseline_days,
        recentDays: query.recent_days,
        limit: query.limit,
        tenant: query.tenant,
      }),
  );

  app.get(
    '/analysis/agent-envelope-recommendations',
    {
      schema: {
        querystring: z.object({ ...scopeQuery, agent_id: agentLabel, window_days: days(30) }),
        response: { 200: envelopeRecommendations },
      },
    },
    ({ query }) =>
      reports.envelopeRecommendations({
        ...scopeOf(query),
        agentId: query.agent_id,
        windowDays: query.window_days,
      }),
  );

  app.get(
    '/analysis/model-upgrade-canary',
    {
      schema: {
        querystring: z.object({ window_hours: whole(1, 720).default(24), cutover: time }),
        response: { 200: modelUpgradeCanary },
      },
    },
    ({ query }) =>
      reports.modelUpgradeCanary({
        windowHours: query.window_hours,
        cutover: windowOf({ from: query.cutover }).from,
      }),
  );

  app.get(
    '/analysis/silent-agents',
    {
      schema: {
        querystring: z.object({ tenant: tenantName.optional(), since_hours: whole(1, 8_784).default(24) }),
        response: { 200: silentAgents },
      },
    },
    ({ query }) => reports.silentAgents({ sinceHours: query.since_hours, tenant: query.tenant }),
  );

  app.get(
    '/analysis/agent-activity',
    {
      schema: {
        querystring: z.object({
          tenant: tenantName.optional(),
          since_hours: whole(1, 720).default(24),
          limit,
          agent_id: agentLabel.optional(),
        }),
        response: { 200: agentActivity },
      },
    },
    ({ query }) =>
      reports.agentActivity({
        sinceHours: query.since_hours,
        limit: query.limit,
        tenant: query.tenant,
        agentId: query.agent_id,
      }),
  );

  app.get(
    '/finops/spend',
    {
      schema: {
        querystring: z.object({
          window: z.string().max(16).optional(),
          tenant: tenantName.optional(),
          limit,
        }),
        response: { 200: spend },
      },
    },
    ({ query }) => {
      if (query.window !== undefined && !MONTH.test(query.window))
        throw new GateError('invalid_window', 'window is a month, as in 2026-11');
      return reports.spend({ month: query.window, tenant: query.tenant, limit: query.limit });
    },
  );
}
