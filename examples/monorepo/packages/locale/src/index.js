// This package is consumed as source: it has no build and no vx config. An edit here still reaches whoever depends on it.
export const words = {
  en: { total: 'total', each: 'each' },
  de: { total: 'Summe', each: 'je' },
};
