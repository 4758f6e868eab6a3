import { type Command, Option } from 'commander';

import { paragraph } from './help-format.ts';
import type { NamedSetting } from './settings/settings.ts';

/** The name of a variable by the rule that `start --help` states. */
const variableOf = (name: string): string => `SPOCK_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

const PRECEDENCE =
	'A flag wins over its environment variable, that over --config, that over the default. The variable of --grace-ms is ' +
	'SPOCK_GRACE_MS, its name in a config file graceMs, and so on; [NAME] is a variable that is called otherwise. A duration is ' +
	"500ms, 10s, 2m or 1h. Consul's own variables are followed (CONSUL_CACERT, CONSUL_HTTP_SSL, …). Secrets have no flag: " +
	'SPOCK_TOKEN, CONSUL_HTTP_TOKEN.';

/** Gives `start` a flag for each setting, in groups by subject. The table of settings is loaded only when it is asked for. */
export async function addSettingFlags(command: Command): Promise<void> {
	const { settingAreas } = await import('./settings/settings.ts');
	for (const [heading, area] of settingAreas) {
		for (const setting of area) {
			const option = optionOf(setting);
			if (option !== undefined) command.addOption(option.helpGroup(`${heading}:`));
		}
	}
	command.addHelpText('after', paragraph(PRECEDENCE));
}

function optionOf({ name, flag, variable, help, defaultText, kind }: NamedSetting): Option | undefined {
	if (flag === undefined) return undefined;
	const notes = [
		...(variable === variableOf(name) ? [] : [` [${variable}]`]),
		...(defaultText === 'none' || kind === 'boolean' ? [] : [` (default: ${defaultText})`]),
	];
	// Flags are named as people read them (--socket-mode); settings as programs do (socketMode): commander's camelCase.
	const option = new Option(flag, `${help}${notes.join('')}`);
	if (typeof kind !== 'string') option.choices([...kind]);
	// A list may be given at once, with commas, or by and by.
	if (kind === 'list')
		option.argParser((value, before?: string) => (before === undefined ? value : `${before},${value}`));
	return option;
}
