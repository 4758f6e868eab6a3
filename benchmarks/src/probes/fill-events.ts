import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';

/** Emits so many small events, and ends when they are on disk. Arguments: socket and count. Prints one line of JSON. */
export async function fillEvents([path = '', count = '0']: readonly string[]): Promise<void> {
	const diplomat = await connect({ path });
	const events = openEvents({ diplomat });
	for (let index = 0; index < Number(count); index++) {
		if (!events.emit('fill', { index, text: 'x'.repeat(60) })) await events.room({ timeoutMs: 120_000 });
	}
	await events.flush({ until: 'persisted', timeoutMs: 120_000 });
	process.stdout.write(`${count}\n`);
	await diplomat.close();
}
