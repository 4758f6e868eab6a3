import { type Backend, createReplayBackend } from '@spock/discovery';

import { CommandError, EXIT } from '../output/exit-codes.ts';
import type { Resolved } from '../settings/resolve-settings.ts';

/** The `replay` backend as the settings ask for it. Rejects with an Error that names what is wrong. */
export async function createReplay(settings: ReadonlyMap<string, Resolved>): Promise<Backend> {
	const file = settings.get('record')?.value as string | undefined;
	if (file === undefined) throw new CommandError(EXIT.usage, 'the replay backend needs a record: --record FILE');
	const loop = settings.get('replayLoop')?.value === true;
	return createReplayBackend({ file, loop, speed: speedOf(settings.get('replaySpeed')) });
}

function speedOf(setting: Resolved | undefined): number {
	const text = setting?.value as string | undefined;
	if (text === undefined) return 1;
	if (text === 'max') return 0;
	const speed = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
	if (Number.isFinite(speed)) return speed;
	throw new CommandError(EXIT.usage, `${setting?.where} must be a factor, as 60 or 0.5, or max; not ${text}`);
}
