import { z } from 'zod';
import { tenantName } from '../../../contracts/erasure.js';
import { GateError } from '../../../domain/errors.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { MakeBundle } from '../../../adapters/evidence/regulatory/bundle.js';
import { requiredWindow, time } from '../query.js';
import { answersAs } from '../../plugins/openapi.js';

const PROSE_BYTES = 1_048_576;
const flag = z.stringbool().default(false);
const query = z.object({
  tenant: z.string().max(256).optional(),
  from: time,
  to: time,
  include_exports: flag,
  include_compliance: flag,
  annex_iv: flag,
  include_post_market_plan: flag,
});

/**
 * The signed bundle of one tenant and window (docs/architecture/ledger-reads.md#regulatory-bundle). The tenant must be the one the console
 * verified and forwards in X-Gate-Tenant-Scope; without that header nobody was verified. Nothing unsigned leaves: until manifest and
 * signature exist, the answer is an error.
 */
export function regulatoryRoutes({
  app,
  exportRegulatory,
}: {
  readonly app: ServiceApp;
  readonly exportRegulatory: MakeBundle;
}): void {
  void app.register((child, _options, done) => {
    const scope = child as unknown as ServiceApp;
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(/^text\//, { parseAs: 'buffer', bodyLimit: PROSE_BYTES }, (_request, body, parsed) =>
      parsed(null, body),
    );
    scope.addContentTypeParser('*', (_request, payload, parsed) => {
      payload.resume();
      parsed(new GateError('unsupported_media_type'));
    });

    scope.post(
      '/export/regulatory',
      { bodyLimit: PROSE_BYTES, config: answersAs('application/gzip'), schema: { querystring: query } },
      async (request, reply) => {
        const asked = request.query;
        const tenant = tenantName.safeParse(asked.tenant);
        if (!tenant.success) throw new GateError('tenant_required');
        const forwarded = request.headers['x-gate-tenant-scope'];
        if (forwarded === undefined) throw new GateError('tenant_scope_required');
        if (forwarded !== tenant.data) throw new GateError('capability_denied', 'tenant_scope_mismatch');
        const { from, to } = requiredWindow(asked);
        const documentation = request.body instanceof Buffer && request.body.length > 0 ? request.body : null;
        const bundle = await exportRegulatory({
          tenant: tenant.data,
          from,
          to,
          includeExports: asked.include_exports,
          includeCompliance: asked.include_compliance,
          annexIv: asked.annex_iv,
          postMarketPlan: asked.include_post_market_plan,
          ...(documentation && { documentation }),
        });
        return reply
          .type('application/gzip')
          .header(
            'content-disposition',
            `attachment; filename="gate-${tenant.data}-${from.slice(0, 10)}-${to.slice(0, 10)}.tar.gz"`,
          )
          .header('x-gate-manifest-sha256', bundle.manifestSha256)
          .header('cache-control', 'no-store')
          .send(bundle.stream());
      },
    );
    done();
  });
}
