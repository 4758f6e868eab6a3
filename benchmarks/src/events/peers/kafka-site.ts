import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { freePort } from '../../free-port.ts';
import { type ServerProcess, startAnnouncedServer } from '../../processes.ts';
import { STREAM } from './sender.ts';
import { killServer, numbersIn, type Site } from './site.ts';

/** Some events of 200 bytes. */
const READ_BYTES_MAX = 2 ** 30;

/** A broker that speaks Kafka's protocol, with its topic on disk. What it has is read by another client than the measured one. */
export async function openKafkaSite(kfake: string, directory: string): Promise<Site> {
	const port = await freePort();
	const start = (): Promise<ServerProcess> =>
		startAnnouncedServer([kfake, 'serve', join(directory, 'topics'), String(port), STREAM]);
	let broker = await start();
	return {
		address: broker.address,
		kill: async () => {
			await killServer(broker);
			broker = await start();
		},
		read: async () => {
			const args = ['read', broker.address, STREAM];
			const { stdout } = await promisify(execFile)(kfake, args, { maxBuffer: READ_BYTES_MAX });
			return numbersIn(stdout.split('\n'));
		},
		close: () => broker.close(),
	};
}
