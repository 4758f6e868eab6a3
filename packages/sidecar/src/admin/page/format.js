const wholeFormat = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const timeFormat = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const momentFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

export function whole(number) {
	return wholeFormat.format(number);
}

/** 950 B, 12.3 KiB, 4.5 MiB: in the units of the settings, and of the commands. */
export function bytes(count) {
	if (count < 1024) return `${Math.round(count)} B`;
	const units = ['KiB', 'MiB', 'GiB', 'TiB'];
	let value = count / 1024;
	let unit = 0;
	while (value >= 1023.95 && unit < units.length - 1) {
		value /= 1024;
		unit++;
	}
	return `${value.toFixed(1)} ${units[unit]}`;
}

/** The time of a bucket: 25 µs, 2.5 ms, 1 s. */
export function duration(ms) {
	const short = (value) => String(Number(value.toPrecision(3)));
	if (ms < 1) return `${short(ms * 1000)} µs`;
	return ms < 1000 ? `${short(ms)} ms` : `${short(ms / 1000)} s`;
}

/** Two units at most: 12 s, 4 min, 3 h 20 min, 5 d 2 h. */
export function age(ms) {
	const seconds = Math.max(0, Math.round(ms / 1000));
	if (seconds < 60) return `${seconds} s`;
	const minutes = Math.floor(seconds / 60);
	if (minutes < 60) return `${minutes} min`;
	const hours = Math.floor(minutes / 60);
	if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
	return hours % 24 === 0 ? `${Math.floor(hours / 24)} d` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** 14:03:22 */
export function time(at) {
	return timeFormat.format(at);
}

/** With its date. */
export function moment(at) {
	return momentFormat.format(at);
}

/** The colour of a status of an instance. */
export const HEALTH_WORDS = { passing: 'good', warning: 'warn', critical: 'bad', maintenance: 'bad' };

/** Whether each of these words, in lower case, is in one of the texts. */
export function hasAll(texts, words) {
	if (words.length === 0) return true;
	const all = texts.join('\n').toLowerCase();
	return words.every((word) => all.includes(word));
}

export function plural(count, one, many = `${one}s`) {
	return `${whole(count)} ${count === 1 ? one : many}`;
}

/** What a client says that it is; the project's own by its name. */
export function clientName(client) {
	return client === null ? 'said no name' : client.replace(/^@spock\/client\//, 'Diplomat ');
}
