import {
	type Backend,
	consulBackend,
	createLocalBackend,
	createReplayBackend,
	type DiscoveryEvent,
	type LocalBackend,
} from '@spock/discovery';

import { CommandError, EXIT } from '../output/exit-codes.ts';
import { type Resolved, type Settings, textOf } from '../settings/setting.ts';
import { createBackends, createDnsBackend } from './backend-list.ts';
import { consulOptionsOf } from './consul-options.ts';

/** Where the services come from, as the settings say. Rejects with an Error that names what is wrong with them. */
export function createBackend(
	settings: Settings,
	onEvent: (event: DiscoveryEvent) => void,
): Promise<Backend | LocalBackend> {
	const hasConsul = settings.get('consul')?.origin !== 'default';
	const { value, where = 'the default' } = settings.get('backend') ?? {};
	const names = (value as readonly string[] | undefined) ?? [hasConsul ? 'consul' : 'local'];
	const makers = {
		consul: () => consulBackend({ ...consulOptionsOf(settings, process.env), onEvent }),
		local: () => {
			const file = textOf(settings, 'services');
			return createLocalBackend({ onEvent, ...(file !== undefined && { file }) });
		},
		dns: () => createDnsBackend(settings, onEvent),
		replay: () => createReplay(settings),
	};
	return createBackends({ names, where }, makers, onEvent);
}

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
