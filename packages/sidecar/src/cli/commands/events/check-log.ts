import { stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';

import { inspectLog, type LogReport, NodeFiles } from '@spock/events';

import { commandLine } from '../../output/command-name.ts';
import { CommandError, EXIT, print, printable } from '../../output/output.ts';

/** Of the process that has the log. */
const OWNER_SOCKET = 'owner.sock';

/** `sidecar events check DIRECTORY`: reads all of the log, of which a start reads a part. Exit code 1 if something is damaged. */
export async function checkLog(directory: string, flags: { readonly json?: boolean }): Promise<void> {
	const found = await stat(directory).catch(() => undefined);
	if (found === undefined || !found.isDirectory()) {
		throw new CommandError(EXIT.usage, `${directory} is no directory: give that of --events`);
	}
	if (await isOwned(directory)) {
		const message = `a sidecar uses the log in ${directory}: stop it first, or ask it by \`${commandLine('events', 'status')}\``;
		throw new CommandError(EXIT.failure, message);
	}
	const report = await inspectLog(directory, new NodeFiles());
	if (report.files.length + report.strayFiles.length + report.supersededFiles.length === 0) {
		throw new CommandError(EXIT.failure, `there is no log in ${directory}: give the directory of --events`);
	}
	print(flags.json ? JSON.stringify(report) : formatReport(report).map(printable).join('\n'));
	const { damage, strayFiles } = report;
	if (damage.length + strayFiles.length > 0) {
		throw new CommandError(EXIT.failure, 'the log is damaged; a sidecar that starts with it skips what cannot be read');
	}
}

function formatReport({ files, first, next, streams, damage, strayFiles, supersededFiles }: LogReport): string[] {
	return [
		`files        ${files.length}, positions ${first} to ${next - 1}`,
		...streams.map(({ stream, events, bytes }) => `  ${stream}  ${events} events, ${bytes} bytes`),
		...damage.map(({ file, from, to }) => `damaged      ${file}: positions ${from} to ${to - 1} are lost`),
		...strayFiles.map((file) => `unreadable   ${file}`),
		...supersededFiles.map((file) => `superseded   ${file}: nothing in it was acknowledged`),
	];
}

/** Whether a process listens at the socket that is the lock. */
function isOwned(directory: string): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = connect(join(directory, OWNER_SOCKET));
		const settle = (isOwnedNow: boolean): void => {
			socket.destroy();
			resolve(isOwnedNow);
		};
		socket.once('connect', () => settle(true)).once('error', () => settle(false));
	});
}
