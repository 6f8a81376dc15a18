//! The encodings of one byte a character whose lower half is ASCII, but for the few that are code.
//!
//! The characters of the bytes 0x80 to 0xff as Java has them; U+FFFD where a byte has none.

/// An encoding's names, in lower case, and its upper half.
pub(super) struct Table {
    pub(super) names: &'static [&'static str],
    upper: &'static str,
}

impl Table {
    /// The table of this name, which is in lower case.
    pub(super) fn find(name: &str) -> Option<&'static Table> {
        TABLES.iter().find(|table| table.names.contains(&name))
    }

    /// The character of a byte of the upper half.
    pub(super) fn char_of(&self, byte: u8) -> char {
        let place = usize::from(byte.wrapping_sub(0x80));
        self.upper.chars().nth(place).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    /// The byte of a character that is not ASCII.
    pub(super) fn byte_of(&self, c: char) -> Option<u8> {
        let known = |place: &char| *place == c && c != char::REPLACEMENT_CHARACTER;
        let place = self.upper.chars().position(|place| known(&place))?;
        u8::try_from(place + 0x80).ok()
    }
}

/// All of them; the first name is the one that is told.
static TABLES: [Table; 28] = [
    Table {
        names: &["windows-1250", "cp1250", "cp5346"],
        upper: "€\u{fffd}‚\u{fffd}„…†‡\u{fffd}‰Š‹ŚŤŽŹ\
                \u{fffd}‘’“”•–—\u{fffd}™š›śťžź\
                \u{a0}ˇ˘Ł¤Ą¦§¨©Ş«¬\u{ad}®Ż\
                °±˛ł´µ¶·¸ąş»Ľ˝ľż\
                ŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎ\
                ĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢß\
                ŕáâăäĺćçčéęëěíîď\
                đńňóôőö÷řůúűüýţ˙",
    },
    Table {
        names: &["windows-1251", "ansi-1251", "cp1251", "cp5347"],
        upper: "ЂЃ‚ѓ„…†‡€‰Љ‹ЊЌЋЏ\
                ђ‘’“”•–—\u{fffd}™љ›њќћџ\
                \u{a0}ЎўЈ¤Ґ¦§Ё©Є«¬\u{ad}®Ї\
                °±Ііґµ¶·ё№є»јЅѕї\
                АБВГДЕЖЗИЙКЛМНОП\
                РСТУФХЦЧШЩЪЫЬЭЮЯ\
                абвгдежзийклмноп\
                рстуфхцчшщъыьэюя",
    },
    Table {
        names: &["windows-1253", "cp1253", "cp5349"],
        upper: "€\u{fffd}‚ƒ„…†‡\u{fffd}‰\u{fffd}‹\u{fffd}\u{fffd}\u{fffd}\u{fffd}\
                \u{fffd}‘’“”•–—\u{fffd}™\u{fffd}›\u{fffd}\u{fffd}\u{fffd}\u{fffd}\
                \u{a0}΅Ά£¤¥¦§¨©\u{fffd}«¬\u{ad}®―\
                °±²³΄µ¶·ΈΉΊ»Ό½ΎΏ\
                ΐΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟ\
                ΠΡ\u{fffd}ΣΤΥΦΧΨΩΪΫάέήί\
                ΰαβγδεζηθικλμνξο\
                πρςστυφχψωϊϋόύώ\u{fffd}",
    },
    Table {
        names: &["windows-1254", "cp1254", "cp5350"],
        upper: "€\u{fffd}‚ƒ„…†‡ˆ‰Š‹Œ\u{fffd}\u{fffd}\u{fffd}\
                \u{fffd}‘’“”•–—˜™š›œ\u{fffd}\u{fffd}Ÿ\
                \u{a0}¡¢£¤¥¦§¨©ª«¬\u{ad}®¯\
                °±²³´µ¶·¸¹º»¼½¾¿\
                ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏ\
                ĞÑÒÓÔÕÖ×ØÙÚÛÜİŞß\
                àáâãäåæçèéêëìíîï\
                ğñòóôõö÷øùúûüışÿ",
    },
    Table {
        names: &["windows-1255", "cp1255"],
        upper: "€\u{fffd}‚ƒ„…†‡ˆ‰\u{fffd}‹\u{fffd}\u{fffd}\u{fffd}\u{fffd}\
                \u{fffd}‘’“”•–—˜™\u{fffd}›\u{fffd}\u{fffd}\u{fffd}\u{fffd}\
                \u{a0}¡¢£₪¥¦§¨©×«¬\u{ad}®¯\
                °±²³´µ¶·¸¹÷»¼½¾¿\
                \u{5b0}\u{5b1}\u{5b2}\u{5b3}\u{5b4}\u{5b5}\u{5b6}\u{5b7}\u{5b8}\u{5b9}\u{fffd}\u{5bb}\u{5bc}\u{5bd}\u{5be}\u{5bf}\
                \u{5c0}\u{5c1}\u{5c2}\u{5c3}\u{5f0}\u{5f1}\u{5f2}\u{5f3}\u{5f4}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\
                \u{5d0}\u{5d1}\u{5d2}\u{5d3}\u{5d4}\u{5d5}\u{5d6}\u{5d7}\u{5d8}\u{5d9}\u{5da}\u{5db}\u{5dc}\u{5dd}\u{5de}\u{5df}\
                \u{5e0}\u{5e1}\u{5e2}\u{5e3}\u{5e4}\u{5e5}\u{5e6}\u{5e7}\u{5e8}\u{5e9}\u{5ea}\u{fffd}\u{fffd}\u{200e}\u{200f}\u{fffd}",
    },
    Table {
        names: &["windows-1256", "cp1256"],
        upper: "€\u{67e}‚ƒ„…†‡ˆ‰\u{679}‹Œ\u{686}\u{698}\u{688}\
                \u{6af}‘’“”•–—\u{6a9}™\u{691}›œ\u{200c}\u{200d}\u{6ba}\
                \u{a0}،¢£¤¥¦§¨©\u{6be}«¬\u{ad}®¯\
                °±²³´µ¶·¸¹\u{61b}»¼½¾\u{61f}\
                \u{6c1}\u{621}\u{622}\u{623}\u{624}\u{625}\u{626}\u{627}\u{628}\u{629}\u{62a}\u{62b}\u{62c}\u{62d}\u{62e}\u{62f}\
                \u{630}\u{631}\u{632}\u{633}\u{634}\u{635}\u{636}×\u{637}\u{638}\u{639}\u{63a}\u{640}\u{641}\u{642}\u{643}\
                à\u{644}â\u{645}\u{646}\u{647}\u{648}çèéêë\u{649}\u{64a}îï\
                \u{64b}\u{64c}\u{64d}\u{64e}ô\u{64f}\u{650}÷\u{651}ù\u{652}ûü\u{200e}\u{200f}\u{6d2}",
    },
    Table {
        names: &["windows-1257", "cp1257", "cp5353"],
        upper: "€\u{fffd}‚\u{fffd}„…†‡\u{fffd}‰\u{fffd}‹\u{fffd}¨ˇ¸\
                \u{fffd}‘’“”•–—\u{fffd}™\u{fffd}›\u{fffd}¯˛\u{fffd}\
                \u{a0}\u{fffd}¢£¤\u{fffd}¦§Ø©Ŗ«¬\u{ad}®Æ\
                °±²³´µ¶·ø¹ŗ»¼½¾æ\
                ĄĮĀĆÄÅĘĒČÉŹĖĢĶĪĻ\
                ŠŃŅÓŌÕÖ×ŲŁŚŪÜŻŽß\
                ąįāćäåęēčéźėģķīļ\
                šńņóōõö÷ųłśūüżž˙",
    },
    Table {
        names: &["windows-1258", "cp1258"],
        upper: "€\u{fffd}‚ƒ„…†‡ˆ‰\u{fffd}‹Œ\u{fffd}\u{fffd}\u{fffd}\
                \u{fffd}‘’“”•–—˜™\u{fffd}›œ\u{fffd}\u{fffd}Ÿ\
                \u{a0}¡¢£¤¥¦§¨©ª«¬\u{ad}®¯\
                °±²³´µ¶·¸¹º»¼½¾¿\
                ÀÁÂĂÄÅÆÇÈÉÊË\u{300}ÍÎÏ\
                ĐÑ\u{309}ÓÔƠÖ×ØÙÚÛÜƯ\u{303}ß\
                àáâăäåæçèéêë\u{301}íîï\
                đñ\u{323}óôơö÷øùúûüư₫ÿ",
    },
    Table {
        names: &[
            "iso-8859-2",
            "8859_2",
            "912",
            "cp912",
            "csisolatin2",
            "ibm-912",
            "ibm912",
            "iso-ir-101",
            "iso8859-2",
            "iso8859_2",
            "iso_8859-2",
            "iso_8859-2:1987",
            "l2",
            "latin2",
        ],
        upper: "\u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\u{8e}\u{8f}\
                \u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\u{9c}\u{9d}\u{9e}\u{9f}\
                \u{a0}Ą˘Ł¤ĽŚ§¨ŠŞŤŹ\u{ad}ŽŻ\
                °ą˛ł´ľśˇ¸šşťź˝žż\
                ŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎ\
                ĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢß\
                ŕáâăäĺćçčéęëěíîď\
                đńňóôőö÷řůúűüýţ˙",
    },
    Table {
        names: &[
            "iso-8859-3",
            "8859_3",
            "913",
            "cp913",
            "csisolatin3",
            "ibm-913",
            "ibm913",
            "iso-ir-109",
            "iso8859-3",
            "iso8859_3",
            "iso_8859-3",
            "iso_8859-3:1988",
            "l3",
            "latin3",
        ],
        upper: "\u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\u{8e}\u{8f}\
                \u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\u{9c}\u{9d}\u{9e}\u{9f}\
                \u{a0}Ħ˘£¤\u{fffd}Ĥ§¨İŞĞĴ\u{ad}\u{fffd}Ż\
                °ħ²³´µĥ·¸ışğĵ½\u{fffd}ż\
                ÀÁÂ\u{fffd}ÄĊĈÇÈÉÊËÌÍÎÏ\
                \u{fffd}ÑÒÓÔĠÖ×ĜÙÚÛÜŬŜß\
                àáâ\u{fffd}äċĉçèéêëìíîï\
                \u{fffd}ñòóôġö÷ĝùúûüŭŝ˙",
    },
    Table {
        names: &[
            "iso-8859-4",
            "8859_4",
            "914",
            "cp914",
            "csisolatin4",
            "ibm-914",
            "ibm914",
            "iso-ir-110",
            "iso8859-4",
            "iso8859_4",
            "iso_8859-4",
            "iso_8859-4:1988",
            "l4",
            "latin4",
        ],
        upper: "\u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\u{8e}\u{8f}\
                \u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\u{9c}\u{9d}\u{9e}\u{9f}\
                \u{a0}ĄĸŖ¤ĨĻ§¨ŠĒĢŦ\u{ad}Ž¯\
                °ą˛ŗ´ĩļˇ¸šēģŧŊžŋ\
                ĀÁÂÃÄÅÆĮČÉĘËĖÍÎĪ\
                ĐŅŌĶÔÕÖ×ØŲÚÛÜŨŪß\
                āáâãäåæįčéęëėíîī\
                đņōķôõö÷øųúûüũū˙",
    },
    Table {
        names: &[
            "iso-8859-5",
            "8859_5",
            "915",
            "cp915",
            "csisolatincyrillic",
            "cyrillic",
            "ibm-915",
            "ibm915",
            "iso-ir-144",
            "iso8859-5",
            "iso8859_5",
            "iso_8859-5",
            "iso_8859-5:1988",
        ],
        upper: "\u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\u{8e}\u{8f}\
                \u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\u{9c}\u{9d}\u{9e}\u{9f}\
                \u{a0}ЁЂЃЄЅІЇЈЉЊЋЌ\u{ad}ЎЏ\
                АБВГДЕЖЗИЙКЛМНОП\
                РСТУФХЦЧШЩЪЫЬЭЮЯ\
                абвгдежзийклмноп\
                рстуфхцчшщъыьэюя\
                №ёђѓєѕіїјљњћќ§ўџ",
    },
    Table {
        names: &[
            "iso-8859-6",
            "1089",
            "8859_6",
            "arabic",
            "asmo-708",
            "cp1089",
            "csisolatinarabic",
            "ecma-114",
            "ibm-1089",
            "ibm1089",
            "iso-ir-127",
            "iso8859-6",
            "iso8859_6",
            "iso_8859-6",
            "iso_8859-6:1987",
        ],
        upper: "\u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\u{8e}\u{8f}\
                \u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\u{9c}\u{9d}\u{9e}\u{9f}\
                \u{a0}\u{fffd}\u{fffd}\u{fffd}¤\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}،\u{ad}\u{fffd}\u{fffd}\
                \u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{61b}\u{fffd}\u{fffd}\u{fffd}\u{61f}\
                \u{fffd}\u{621}\u{622}\u{623}\u{624}\u{625}\u{626}\u{627}\u{628}\u{629}\u{62a}\u{62b}\u{62c}\u{62d}\u{62e}\u{62f}\
                \u{630}\u{631}\u{632}\u{633}\u{634}\u{635}\u{636}\u{637}\u{638}\u{639}\u{63a}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\
                \u{640}\u{641}\u{642}\u{643}\u{644}\u{645}\u{646}\u{647}\u{648}\u{649}\u{64a}\u{64b}\u{64c}\u{64d}\u{64e}\u{64f}\
                \u{650}\u{651}\u{652}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}",
    },
    Table {
        names: &[
            "iso-8859-7",
            "813",
            "8859_7",
            "cp813",
            "csisolatingreek",
            "ecma-118",
            "elot_928",
            "greek",
            "greek8",
            "ibm-813",
            "ibm813",
            "iso-ir-126",
            "iso8859-7",
            "iso8859_7",
            "iso_8859-7",
            "iso_8859-7:1987",
            "sun_eu_greek",
        ],
        upper: "\u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\u{8e}\u{8f}\
                \u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\u{9c}\u{9d}\u{9e}\u{9f}\
                \u{a0}‘’£€₯¦§¨©ͺ«¬\u{ad}\u{fffd}―\
                °±²³΄΅Ά·ΈΉΊ»Ό½ΎΏ\
                ΐΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟ\
                ΠΡ\u{fffd}ΣΤΥΦΧΨΩΪΫάέήί\
                ΰαβγδεζηθικλμνξο\
                πρςστυφχψωϊϋόύώ\u{fffd}",
    },
    Table {
        names: &[
            "iso-8859-8",
            "8859_8",
            "916",
            "cp916",
            "csisolatinhebrew",
            "hebrew",
            "ibm-916",
            "ibm916",
            "iso-ir-138",
            "iso8859-8",
            "iso8859_8",
            "iso_8859-8",
            "iso_8859-8:1988",
        ],
        upper: "\u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\u{8e}\u{8f}\
                \u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\u{9c}\u{9d}\u{9e}\u{9f}\
                \u{a0}\u{fffd}¢£¤¥¦§¨©×«¬\u{ad}®¯\
                °±²³´µ¶·¸¹÷»¼½¾\u{fffd}\
                \u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\
                \u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}‗\
                \u{5d0}\u{5d1}\u{5d2}\u{5d3}\u{5d4}\u{5d5}\u{5d6}\u{5d7}\u{5d8}\u{5d9}\u{5da}\u{5db}\u{5dc}\u{5dd}\u{5de}\u{5df}\
                \u{5e0}\u{5e1}\u{5e2}\u{5e3}\u{5e4}\u{5e5}\u{5e6}\u{5e7}\u{5e8}\u{5e9}\u{5ea}\u{fffd}\u{fffd}\u{200e}\u{200f}\u{fffd}",
    },
    Table {
        names: &[
            "iso-8859-9",
            "8859_9",
            "920",
            "cp920",
            "csisolatin5",
            "ibm-920",
            "ibm920",
            "iso-ir-148",
            "iso8859-9",
            "iso8859_9",
            "iso_8859-9",
            "iso_8859-9:1989",
            "l5",
            "latin5",
        ],
        upper: "\u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\u{8e}\u{8f}\
                \u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\u{9c}\u{9d}\u{9e}\u{9f}\
                \u{a0}¡¢£¤¥¦§¨©ª«¬\u{ad}®¯\
                °±²³´µ¶·¸¹º»¼½¾¿\
                ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏ\
                ĞÑÒÓÔÕÖ×ØÙÚÛÜİŞß\
                àáâãäåæçèéêëìíîï\
                ğñòóôõö÷øùúûüışÿ",
    },
    Table {
        names: &["iso-8859-13", "8859_13", "iso8859-13", "iso8859_13", "iso_8859-13"],
        upper: "\u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\u{8e}\u{8f}\
                \u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\u{9c}\u{9d}\u{9e}\u{9f}\
                \u{a0}”¢£¤„¦§Ø©Ŗ«¬\u{ad}®Æ\
                °±²³“µ¶·ø¹ŗ»¼½¾æ\
                ĄĮĀĆÄÅĘĒČÉŹĖĢĶĪĻ\
                ŠŃŅÓŌÕÖ×ŲŁŚŪÜŻŽß\
                ąįāćäåęēčéźėģķīļ\
                šńņóōõö÷ųłśūüżž’",
    },
    Table {
        names: &[
            "iso-8859-15",
            "8859_15",
            "923",
            "cp923",
            "csiso885915",
            "csisolatin0",
            "csisolatin9",
            "ibm-923",
            "ibm923",
            "iso8859-15",
            "iso8859_15",
            "iso8859_15_fdis",
            "iso_8859-15",
            "l9",
            "latin-9",
            "latin0",
            "latin9",
        ],
        upper: "\u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\u{8e}\u{8f}\
                \u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\u{9c}\u{9d}\u{9e}\u{9f}\
                \u{a0}¡¢£€¥Š§š©ª«¬\u{ad}®¯\
                °±²³Žµ¶·ž¹º»ŒœŸ¿\
                ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏ\
                ÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞß\
                àáâãäåæçèéêëìíîï\
                ðñòóôõö÷øùúûüýþÿ",
    },
    Table {
        names: &[
            "iso-8859-16",
            "csiso885916",
            "iso-ir-226",
            "iso8859_16",
            "iso_8859-16",
            "iso_8859-16:2001",
            "l10",
            "latin10",
        ],
        upper: "\u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\u{8e}\u{8f}\
                \u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\u{9c}\u{9d}\u{9e}\u{9f}\
                \u{a0}ĄąŁ€„Š§š©Ș«Ź\u{ad}źŻ\
                °±ČłŽ”¶·žčș»ŒœŸż\
                ÀÁÂĂÄĆÆÇÈÉÊËÌÍÎÏ\
                ĐŃÒÓÔŐÖŚŰÙÚÛÜĘȚß\
                àáâăäćæçèéêëìíîï\
                đńòóôőöśűùúûüęțÿ",
    },
    Table {
        names: &["koi8-r", "cskoi8r", "koi8", "koi8_r"],
        upper: "─│┌┐└┘├┤┬┴┼▀▄█▌▐\
                ░▒▓⌠■∙√≈≤≥\u{a0}⌡°²·÷\
                ═║╒ё╓╔╕╖╗╘╙╚╛╜╝╞\
                ╟╠╡Ё╢╣╤╥╦╧╨╩╪╫╬©\
                юабцдефгхийклмно\
                пярстужвьызшэщчъ\
                ЮАБЦДЕФГХИЙКЛМНО\
                ПЯРСТУЖВЬЫЗШЭЩЧЪ",
    },
    Table {
        names: &["koi8-u", "koi8_u"],
        upper: "─│┌┐└┘├┤┬┴┼▀▄█▌▐\
                ░▒▓⌠■∙√≈≤≥\u{a0}⌡°²·÷\
                ═║╒ёє╔ії╗╘╙╚╛ґ╝╞\
                ╟╠╡ЁЄ╣ІЇ╦╧╨╩╪Ґ╬©\
                юабцдефгхийклмно\
                пярстужвьызшэщчъ\
                ЮАБЦДЕФГХИЙКЛМНО\
                ПЯРСТУЖВЬЫЗШЭЩЧЪ",
    },
    Table {
        names: &["ibm437", "437", "cp437", "cspc8codepage437", "ibm-437", "windows-437"],
        upper: "ÇüéâäàåçêëèïîìÄÅ\
                ÉæÆôöòûùÿÖÜ¢£¥₧ƒ\
                áíóúñÑªº¿⌐¬½¼¡«»\
                ░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
                └┴┬├─┼╞╟╚╔╩╦╠═╬╧\
                ╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀\
                αßΓπΣσµτΦΘΩδ∞φε∩\
                ≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
    },
    Table {
        names: &["ibm850", "850", "cp850", "cspc850multilingual", "ibm-850"],
        upper: "ÇüéâäàåçêëèïîìÄÅ\
                ÉæÆôöòûùÿÖÜø£Ø×ƒ\
                áíóúñÑªº¿®¬½¼¡«»\
                ░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐\
                └┴┬├─┼ãÃ╚╔╩╦╠═╬¤\
                ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀\
                ÓßÔÒõÕµþÞÚÛÙýÝ¯´\
                \u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}",
    },
    Table {
        names: &["ibm852", "852", "cp852", "cspcp852", "ibm-852"],
        upper: "ÇüéâäůćçłëŐőîŹÄĆ\
                ÉĹĺôöĽľŚśÖÜŤťŁ×č\
                áíóúĄąŽžĘę¬źČş«»\
                ░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐\
                └┴┬├─┼Ăă╚╔╩╦╠═╬¤\
                đĐĎËďŇÍÎě┘┌█▄ŢŮ▀\
                ÓßÔŃńňŠšŔÚŕŰýÝţ´\
                \u{ad}˝˛ˇ˘§÷¸°¨˙űŘř■\u{a0}",
    },
    Table {
        names: &["ibm855", "855", "cp855", "cspcp855", "ibm-855"],
        upper: "ђЂѓЃёЁєЄѕЅіІїЇјЈ\
                љЉњЊћЋќЌўЎџЏюЮъЪ\
                аАбБцЦдДеЕфФгГ«»\
                ░▒▓│┤хХиИ╣║╗╝йЙ┐\
                └┴┬├─┼кК╚╔╩╦╠═╬¤\
                лЛмМнНоОп┘┌█▄Пя▀\
                ЯрРсСтТуУжЖвВьЬ№\
                \u{ad}ыЫзЗшШэЭщЩчЧ§■\u{a0}",
    },
    Table {
        names: &["ibm866", "866", "cp866", "csibm866", "ibm-866"],
        upper: "АБВГДЕЖЗИЙКЛМНОП\
                РСТУФХЦЧШЩЪЫЬЭЮЯ\
                абвгдежзийклмноп\
                ░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
                └┴┬├─┼╞╟╚╔╩╦╠═╬╧\
                ╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀\
                рстуфхцчшщъыьэюя\
                ЁёЄєЇїЎў°∙·√№¤■\u{a0}",
    },
    Table {
        names: &["tis-620", "tis620", "tis620.2533"],
        upper: "\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\
                \u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\
                \u{a0}กขฃคฅฆงจฉชซฌญฎฏ\
                ฐฑฒณดตถทธนบปผฝพฟ\
                ภมยรฤลฦวศษสหฬอฮฯ\
                ะ\u{e31}าำ\u{e34}\u{e35}\u{e36}\u{e37}\u{e38}\u{e39}\u{e3a}\u{fffd}\u{fffd}\u{fffd}\u{fffd}฿\
                เแโใไๅๆ\u{e47}\u{e48}\u{e49}\u{e4a}\u{e4b}\u{e4c}\u{e4d}\u{e4e}๏\
                ๐๑๒๓๔๕๖๗๘๙๚๛\u{fffd}\u{fffd}\u{fffd}\u{fffd}",
    },
    Table {
        names: &["x-macroman", "macroman"],
        upper: "ÄÅÇÉÑÖÜáàâäãåçéè\
                êëíìîïñóòôöõúùûü\
                †°¢£§•¶ß®©™´¨≠ÆØ\
                ∞±≤≥¥µ∂∑∏π∫ªºΩæø\
                ¿¡¬√ƒ≈∆«»…\u{a0}ÀÃÕŒœ\
                –—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ\
                ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\
                \u{f8ff}ÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ",
    },
];
