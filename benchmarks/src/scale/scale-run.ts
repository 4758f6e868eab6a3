import type { RealConsul } from '@spock/testkit/real-consul';

import { LoadClient, type ServerProcess, startServer } from '../processes.ts';
import type { OwnTools } from '../toolbox.ts';

/** What the rows share. */
export interface ScaleRun {
	readonly tools: OwnTools;
	/** Tiny sizes: whether all of it works. */
	readonly quick: boolean;
	say(line: string): void;
	/** A path for a socket or a file of this run, unlike all before. */
	place(name: string): string;
}

/** What rows share that need a real Consul. */
export interface ConsulScaleRun extends ScaleRun {
	/** One server, of this row alone. */
	readonly consul: RealConsul;
}

/** `sidecar start` at a socket of its own. */
export function startSpock({ tools, place }: ScaleRun, name: string, settings: readonly string[]): ServerProcess {
	const path = place(`${name}.sock`);
	return startServer([tools.node, tools.sidecar, 'start', '--socket', path, ...settings], path);
}

/** A process of this bench that answers commands; its first line says that it is ready. */
export function startHelper(
	{ tools }: ScaleRun,
	name: string,
	settings: unknown,
	{ flags = [], readyMsMax = 120_000 }: { readonly flags?: readonly string[]; readonly readyMsMax?: number } = {},
): Promise<LoadClient> {
	const command = [tools.node, ...flags, tools.entry('probe'), name, JSON.stringify(settings)];
	return LoadClient.start(command, readyMsMax);
}
