import { readFileSync } from 'node:fs';

import { parse } from 'yaml';

import type { Container } from '../src/pod.ts';

type Probe = Readonly<Record<string, unknown>>;

/** What docs/GRPC.md tells whoever wants probes over gRPC alone to give the sidecar's container. */
export interface DocumentedProbes extends Partial<Container> {
	readonly env: NonNullable<Container['env']>;
	readonly startupProbe: Probe;
	readonly readinessProbe: Probe;
	readonly livenessProbe: Probe;
}

/** As the page has it, so that what is tested is what people copy. Throws an Error when it is not there any more. */
export function documentedProbes(): DocumentedProbes {
	const page = readFileSync(new URL('../../../docs/GRPC.md', import.meta.url), 'utf8');
	const [, text] = /```yaml\n([^`]*readinessProbe[^`]*)```/.exec(page) ?? [];
	if (text === undefined) throw new Error('docs/GRPC.md has no YAML with a readinessProbe');
	return parse(text) as DocumentedProbes;
}
