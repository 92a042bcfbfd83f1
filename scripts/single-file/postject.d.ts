/** The package has no types of its own. */
declare module 'postject' {
  /** Writes `resource` into the executable at `filename`, under `resourceName`, and flips the fuse that tells Node to look for it. */
  export function inject(
    filename: string,
    resourceName: string,
    resource: Buffer,
    options: { sentinelFuse: string; machoSegmentName?: string; overwrite?: boolean },
  ): Promise<void>;
}
