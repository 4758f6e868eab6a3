import manifest from '../../package.json' with { type: 'json' };

/** Name and version of this package, as sent in hello. */
export const SIDECAR_VERSION: string = `${manifest.name}/${manifest.version}`;
