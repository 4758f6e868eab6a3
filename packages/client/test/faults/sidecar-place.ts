import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type RunningProcess, startSidecar } from '@spock/testkit';

import { portOf } from './call-load.ts';

/** What the apps of these suites look up. */
export const SERVICES: readonly string[] = Array.from({ length: 16 }, (_, index) => `service-${index}`);

/** A directory with a services file and room for a socket. */
export class SidecarPlace implements AsyncDisposable {
	readonly directory: string;
	readonly path: string;

	private constructor(directory: string) {
		this.directory = directory;
		this.path = join(directory, 'sidecar.sock');
	}

	static async make(): Promise<SidecarPlace> {
		const place = new SidecarPlace(await mkdtemp('/tmp/spock-faults-'));
		const services = SERVICES.map((service, index) => [service, [{ host: '10.0.0.1', port: portOf(index) }]]);
		await writeFile(place.#file, JSON.stringify({ services: Object.fromEntries(services) }));
		return place;
	}

	/** A real sidecar; resolves when its socket is there. */
	startSidecar(args: readonly string[] = []): Promise<RunningProcess> {
		return startSidecar(this.path, ['--backend', 'local', '--services', this.#file, '--log-level', 'silent', ...args]);
	}

	[Symbol.asyncDispose](): Promise<void> {
		return rm(this.directory, { recursive: true, force: true });
	}

	get #file(): string {
		return join(this.directory, 'services.json');
	}
}
