/** Throws when a text is no well-formed XML of elements, attributes and text; knows no more than the charts use. */
export function assertWellFormed(xml: string): void {
	const open: string[] = [];
	const token = /<(\/?)([a-zA-Z][\w-]*)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>|([^<]+)/gy;
	let roots = 0;
	let end = 0;
	for (const match of xml.matchAll(token)) {
		end = match.index + match[0].length;
		const [, closing, name = '', attributes = '', selfClosing, text] = match;
		if (/&(?!(?:amp|lt|gt|quot|apos);)/.test(text ?? attributes)) throw new Error(`bare ampersand in ${match[0]}`);
		if (text !== undefined) {
			if (open.length === 0 && text.trim() !== '') throw new Error(`text outside the root: ${text}`);
			continue;
		}
		if (closing === '/') {
			if (open.pop() !== name) throw new Error(`</${name}> closes nothing`);
			continue;
		}
		if (open.length === 0) roots++;
		if (selfClosing !== '/') open.push(name);
	}
	if (end !== xml.length) throw new Error(`no XML at ${end}: ${xml.slice(end, end + 60)}`);
	if (open.length > 0 || roots !== 1) throw new Error(`${open.length} elements open, ${roots} roots`);
}
