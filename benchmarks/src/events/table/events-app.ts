import { connect } from '@spock/client';
import { openEvents } from '@spock/client/events';

import { Samples } from '../../load/samples.ts';
import { type AppReport, type AppWork, type MessageSupply, waitOf } from './app-work.ts';

const STREAM = 'metrics';
/** Of so many events one is awaited until it is persisted, and another until it is stored. */
const AWAITED_OF = 64;
/** A slow link makes figures, and no failure. */
const PATIENCE = { timeoutMs: 1_200_000 };

/** Events through the app's sidecar, as fast as they are taken, until the store has them. */
export async function sendEvents({ address }: AppWork, supply: MessageSupply): Promise<AppReport> {
	const diplomat = await connect({ path: address });
	const events = openEvents({ diplomat });
	const [emits, persists, stores] = [new Samples(), new Samples(), new Samples()];
	const awaited: Promise<void>[] = [];
	const publish = async (text: string, until: 'persisted' | 'stored', into: Samples): Promise<void> => {
		const sentMs = performance.now();
		await events.publish(STREAM, text, { until, ...PATIENCE });
		into.add(performance.now() - sentMs);
	};
	await events.publish(STREAM, 'first', { until: 'stored', ...PATIENCE });
	const startedMs = performance.now();
	for (let text = supply.take(); text !== undefined; text = supply.take()) {
		const turn = supply.given % AWAITED_OF;
		if (turn === 0) awaited.push(publish(text, 'persisted', persists));
		else if (turn === AWAITED_OF / 2) awaited.push(publish(text, 'stored', stores));
		else {
			const calledMs = performance.now();
			const hasRoom = events.emit(STREAM, text);
			emits.add(performance.now() - calledMs);
			if (!hasRoom) await events.room(PATIENCE);
		}
	}
	await events.flush({ until: 'stored', ...PATIENCE });
	const seconds = (performance.now() - startedMs) / 1000;
	await Promise.all(awaited);
	await diplomat.close();
	return {
		...{ seconds, messages: supply.given, bytes: supply.bytes },
		waits: { emitted: waitOf(emits), persisted: waitOf(persists), stored: waitOf(stores) },
	};
}
