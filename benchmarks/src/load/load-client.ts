import { createInterface } from 'node:readline';

import { connectPeer } from '../peers/peers.ts';
import { runClosedLoop } from './closed-loop.ts';
import type { LoadCommand, LoadReport } from './load.ts';
import { runOpenLoop } from './open-loop.ts';
import { Pacer } from './pacer.ts';

/**
 * The process that makes the calls of one contender: reads commands from standard input and writes a report for each, as
 * lines of JSON. Ends at the end of its input. Arguments: the peer, its address, the server's process id, the pacer's path
 * ("-" for none).
 */
async function main([peer = '', address = '', serverPid = '', pacerPath = '-']: readonly string[]): Promise<void> {
	const target = await connectPeer(peer, address);
	const pacer = pacerPath === '-' ? undefined : Pacer.start(pacerPath);
	const run = (command: LoadCommand): Promise<LoadReport> => {
		if (command.kind === 'closed') return runClosedLoop(target, command, Number(serverPid));
		if (pacer === undefined) throw new Error('an open loop needs the pacer');
		return runOpenLoop(target, command, Number(serverPid), pacer);
	};
	process.stdout.write('{"ready":true}\n');
	for await (const line of createInterface({ input: process.stdin })) {
		process.stdout.write(`${JSON.stringify(await run(JSON.parse(line) as LoadCommand))}\n`);
	}
	pacer?.close();
	await target.close();
}

await main(process.argv.slice(2));
