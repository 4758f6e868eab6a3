import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { type ServerProcess, startServer } from '../../processes.ts';
import type { OwnTools } from '../../toolbox.ts';

/** A sidecar that takes events. */
export interface EventsSidecar {
	/** The directory of its log. */
	readonly log: string;
	/** Where it listens. Default: a socket of its own. */
	readonly socket?: string;
	/** Further settings of its command. */
	readonly settings?: readonly string[];
}

let count = 0;

/** Starts the product's own command. The address is the path of its socket. */
export function startSidecar(tools: OwnTools, { log, socket, settings = [] }: EventsSidecar): ServerProcess {
	const services = join(tools.directory, 'no-services.json');
	writeFileSync(services, '{"services":{}}');
	const path = socket ?? join(tools.directory, `events-${++count}.sock`);
	const command = [tools.node, tools.sidecar, 'start', '--backend', 'local', '--services', services, '--socket', path];
	const events = ['--events', log, '--events-bytes-max', String(2 ** 30)];
	return startServer([...command, '--admin', '127.0.0.1:0', ...events, ...settings], path);
}
